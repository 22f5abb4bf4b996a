-- Swaps one row of a bare table twice, as a claim and a completion do.
\set i :i + 1
\set n :client_id * :each + :i
update bare
set version = version + 1, state = 'leased', holder = 'f1',
    lease_expires_at = now() + interval '60 s'
where id = ('01980000-0000-7000-8000-' || lpad(to_hex(:n::bigint), 12, '0'))::uuid and version = 1;
update bare
set version = version + 1, state = 'succeeded', holder = null, lease_expires_at = null
where id = ('01980000-0000-7000-8000-' || lpad(to_hex(:n::bigint), 12, '0'))::uuid and version = 2;
