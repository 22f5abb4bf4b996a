-- Keeps a new token, unless its end is not ahead of now.
insert into token (id, role, factory_id, name, digest, expires_at)
select $1, $2, $3, $4, $5, $6
where $6::timestamptz is null or $6::timestamptz > now()
returning id, role, factory_id, name, created_at, expires_at, revoked_at
