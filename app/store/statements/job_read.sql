-- Reads jobs whole, as people and factories see them.
select
    j.id, j.version, j.kind, j.state, j.repo, j.payload, j.labels, j.if_parent_fails, j.run_after,
    j.timeout_s, j.attempts, j.attempts_max, j.dedupe_key, j.hold_reason, j.hold_by, j.hold_until,
    j.holder, j.fence, j.claimed_at, j.lease_expires_at, j.cancel_requested_at, j.result, j.error,
    j.created_at, j.updated_at, j.finished_at,
    c.required, c.prefers_engine, c.cost_class, c.priority, c.lock, c.excluded,
    j.fence_open and (c.lock is null or (l.holder_job = j.id and l.holder_fence = j.fence))
        as fence_open,
    array(select d.parent_id from job_dependency d where d.job_id = j.id order by d.parent_id)
        as depends_on
from job j
join job_class c on c.id = j.class_id
left join job_lock l on l.name = c.lock
where j.id = any($1::uuid[])
