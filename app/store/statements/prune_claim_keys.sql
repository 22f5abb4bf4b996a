-- Deletes keys of claims whose time is over, at most $1.
with old as materialized (
    select factory_id, key
    from claim_key
    where expires_at < now()
    order by expires_at
    limit $1
    for update skip locked
)
delete from claim_key k using old o where k.factory_id = o.factory_id and k.key = o.key
