-- Tries to be the only tick until the transaction ends; never waits.
select pg_try_advisory_xact_lock($1)
