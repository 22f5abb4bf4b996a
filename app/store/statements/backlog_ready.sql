-- Counts the ready jobs of each class up to a bound, and says whether its lock is held.
select
    c.id, c.required, c.prefers_engine, c.cost_class, c.priority, c.lock, c.excluded,
    n.ready,
    c.lock is not null and l.holder_job is not null and not l.lapsed as lock_held
from job_class c
left join job_lock l on l.name = c.lock
cross join lateral (
    select count(*) as ready
    from (select 1 from job where state = 'ready' and class_id = c.id limit $1) counted
) n
where n.ready > 0
