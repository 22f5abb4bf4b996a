-- Renews running leases by (job, fence, holder); those left out need a closer look. Rows are locked
-- in the order of their key, one by one, so that their number does not multiply the work.
-- A seated lease has not lapsed, so nobody can have taken its lock: the job's row says it all.
-- $4: a new length for each lease, or null to keep it as it was asked for.
with want as materialized (
    select distinct on (job_id, fence, factory_id) job_id, fence, factory_id, lease_s
    from unnest($1::uuid[], $2::bigint[], $3::text[], $4::int[]) as w (
        job_id, fence, factory_id, lease_s
    )
),
held as materialized (
    select b.id, b.fence, coalesce(w.lease_s, b.lease_s) as lease_s
    from (select * from want order by job_id) w
    cross join lateral (
        select id, fence, lease_s
        from job
        where id = w.job_id
            and fence = w.fence
            and fence_open
            and holder = w.factory_id
            and seated
            and claimed_at + make_interval(secs => timeout_s) > now()
            and (cancel_deadline_at is null or cancel_deadline_at > now())
        limit 1
        for no key update
    ) b
),
held_all as materialized (select count(*) as n from held),
renewed as (
    update job b
    set version = b.version + 1,
        updated_at = now(),
        lease_s = h.lease_s,
        -- The renewal that tells of a cancel is the last to prolong the lease.
        lease_expires_at = case
            when b.cancel_requested_at is null
                then now() + make_interval(secs => h.lease_s)
            else least(
                now() + make_interval(secs => h.lease_s), b.cancel_deadline_at
            )
        end,
        cancel_deadline_at = case
            when b.cancel_requested_at is not null
                then least(
                    now() + make_interval(secs => h.lease_s),
                    b.cancel_deadline_at
                )
        end,
        wake_at = least(
            now() + make_interval(secs => h.lease_s),
            b.cancel_deadline_at,
            b.claimed_at + make_interval(secs => b.timeout_s)
        )
    from held h
    where b.id = h.id
        and b.fence = h.fence
        and b.id = any($1::uuid[])
        and (select n from held_all) >= 0
    returning
        b.id, b.fence, b.lease_s, b.lease_expires_at,
        b.cancel_requested_at is not null as cancel_requested
)
select * from renewed
