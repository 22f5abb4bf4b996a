-- Reads the leases of a job from the decisions that gave them, oldest first, after a fence.
select
    d.id, d.at, d.factory_id, d.fence, d.total,
    coalesce(
        j.fence_open and j.fence = d.fence
            and (c.lock is null or (l.holder_job = j.id and l.holder_fence = j.fence)),
        false
    ) as open
from decision d
left join job j on j.id = d.job_id
left join job_class c on c.id = j.class_id
left join job_lock l on l.name = c.lock
where d.job_id = $1 and d.fence > $2
order by d.fence
limit $3
