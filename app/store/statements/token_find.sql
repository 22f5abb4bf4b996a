-- Finds a token by its id, with what is left of its life if that has an end.
select
    id, role, factory_id, name, digest, created_at, expires_at, revoked_at,
    revoked_at is null and (expires_at is null or expires_at > statement_timestamp()) as good,
    extract(epoch from expires_at - statement_timestamp())::float8 as left_s
from token
where id = $1
