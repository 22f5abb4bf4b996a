-- Lists tokens, the oldest first, after one of them.
select id, role, factory_id, name, created_at, expires_at, revoked_at
from token
where id > coalesce($1::uuid, '00000000-0000-0000-0000-000000000000')
order by id
limit $2
