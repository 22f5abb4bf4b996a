-- Takes an idempotency key that is new or has expired. Waits for a twin that is at it right now;
-- no row means that the twin, or an earlier call, has it.
insert into idempotency_key (scope, key, fingerprint, expires_at)
values ($1, $2, $3, now() + make_interval(secs => $4))
on conflict (scope, key) do update
set fingerprint = excluded.fingerprint,
    expires_at = excluded.expires_at,
    status = null,
    body = null
where idempotency_key.expires_at <= now()
returning true as mine
