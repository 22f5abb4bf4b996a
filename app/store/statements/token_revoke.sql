-- Revokes a token; the time of the first revocation stays.
update token set revoked_at = coalesce(revoked_at, now())
where id = $1
returning id, role, factory_id, name, created_at, expires_at, revoked_at
