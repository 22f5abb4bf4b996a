-- Forgets idempotency keys whose time is over, a bounded number of them.
delete from idempotency_key
where (scope, key) in (
    select scope, key
    from idempotency_key
    where expires_at <= now()
    order by expires_at
    limit $1
    for update skip locked
)
