-- Bounds how long this transaction waits for a row: who holds it must not hold up a whole tick.
select set_config('lock_timeout', $1, true)
