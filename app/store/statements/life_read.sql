-- Reads what the law of leases needs to know of jobs, their parents' states counted anew.
select
    j.id, j.version, j.class_id, c.lock, j.state, j.fence, j.holder, j.seated, j.attempts,
    j.attempts_max, j.claimed_at, j.lease_s, j.lease_expires_at, j.timeout_s, j.run_after,
    j.parents_left, j.dependants, j.if_parent_fails, j.cancelled_by_parent, j.cancel_requested_at,
    j.cancel_deadline_at, j.hold_reason, j.hold_by, j.hold_until,
    j.fence_open and (c.lock is null or (l.holder_job = j.id and l.holder_fence = j.fence))
        as fence_open,
    coalesce(p.unfinished, 0) as unfinished_parents,
    p.failed as failed_parents,
    now() as now
from job j
join job_class c on c.id = j.class_id
left join job_lock l on l.name = c.lock
left join lateral (
    select
        count(*) filter (where q.state not in ('succeeded', 'dead', 'cancelled')) as unfinished,
        array_agg(q.id order by q.id) filter (where q.state in ('dead', 'cancelled')) as failed
    from job_dependency d
    join job q on q.id = d.parent_id
    where d.job_id = j.id
) p on true
where j.id = any($1::uuid[])
