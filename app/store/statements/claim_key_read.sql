-- Reads what the claims of these keys got.
select k.factory_id, k.key, k.leases
from unnest($1::text[], $2::text[]) as w (factory_id, key)
cross join lateral (
    select factory_id, key, leases
    from claim_key
    where factory_id = w.factory_id and key = w.key
    limit 1
) k
