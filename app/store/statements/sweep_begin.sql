-- Tries to be the only lease loop at work until the transaction ends, and bounds its waits for rows.
select
    pg_try_advisory_xact_lock($1) as mine,
    set_config('lock_timeout', $2::int || 'ms', true) as lock_timeout
