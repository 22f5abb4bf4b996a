-- Reads what the claims of these keys got.
select k.factory_id, k.key, k.leases
from claim_key k
join unnest($1::text[], $2::text[]) as w (factory_id, key) using (factory_id, key)
