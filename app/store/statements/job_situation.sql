-- Reads what the scheduler knows of jobs, their unfinished parents and the holders of their locks.
select
    j.id, j.class_id, j.version, j.state, j.repo, j.created_at, j.run_after, j.lease_expires_at,
    j.hold_reason, j.hold_by, j.hold_until,
    c.required, c.prefers_engine, c.cost_class, c.priority, c.lock, c.excluded,
    j.holder, h.id as lock_job, h.holder as lock_factory, h.lease_expires_at as lock_expires_at,
    array(
        select d.parent_id
        from job_dependency d
        join job p on p.id = d.parent_id
        where d.job_id = j.id and p.state not in ('succeeded', 'dead', 'cancelled')
        order by d.parent_id
    ) as unfinished_parents,
    now() as now
from job j
join job_class c on c.id = j.class_id
left join job_lock l on l.name = c.lock and not l.lapsed
left join job h on h.id = l.holder_job
where j.id = any($1::uuid[])
