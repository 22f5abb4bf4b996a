-- Swaps one row of the job table twice, as a claim and a completion do.
\set i :i + 1
\set n :client_id * :each + :i
update job
set state = 'leased', version = version + 1, fence = fence + 1, fence_open = true, holder = 'f1',
    seated = true, lease_s = 60, claimed_at = now(),
    lease_expires_at = now() + interval '60 s', wake_at = now() + interval '60 s',
    attempts = attempts + 1, updated_at = now()
where id = ('01980000-0000-7000-8000-' || lpad(to_hex(:n::bigint), 12, '0'))::uuid and version = 1
    and state = 'ready';
update job
set state = 'succeeded', version = version + 1, fence_open = false, seated = false,
    lease_expires_at = null, wake_at = null, finished_at = now(), updated_at = now()
where id = ('01980000-0000-7000-8000-' || lpad(to_hex(:n::bigint), 12, '0'))::uuid and version = 2
    and fence = 1 and fence_open;
