-- Reads leases that are still open, with the jobs whole and the decisions that gave them.
select
    j.*,
    c.required, c.prefers_engine, c.cost_class, c.priority, c.lock, c.excluded,
    array(select p.parent_id from job_dependency p where p.job_id = j.id) as depends_on,
    d.id as decision_id,
    d.record -> 'picked' -> 'score' as score
from unnest($2::uuid[], $3::bigint[]) with ordinality as w (job_id, fence, ord)
join job j on j.id = w.job_id and j.fence = w.fence and j.holder = $1 and case when j.fence_open then true end
cross join lateral (select * from job_class where id = j.class_id limit 1) c
cross join lateral (
    select id, record from decision where job_id = j.id and fence = j.fence limit 1
) d
left join lateral (select * from job_lock where name = c.lock limit 1) l on true
where j.id = any($2::uuid[])
    and j.state = 'leased'
    and (c.lock is null or (l.holder_job = j.id and l.holder_fence = j.fence))
order by w.ord
