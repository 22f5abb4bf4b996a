-- Counts the ready jobs of classes that differ in their lock alone, each up to a bound, apart by
-- whether the lock is held.
select
    c.required, c.prefers_engine, c.cost_class, c.priority, null::text as lock, c.excluded,
    c.lock is not null and l.holder_job is not null and not l.lapsed as lock_held,
    sum(n.ready)::bigint as ready
from job_class c
left join job_lock l on l.name = c.lock
cross join lateral (
    select count(*) as ready
    from (select 1 from job where state = 'ready' and class_id = c.id limit $1) counted
) n
where n.ready > 0
group by c.required, c.prefers_engine, c.cost_class, c.priority, c.excluded, 7
