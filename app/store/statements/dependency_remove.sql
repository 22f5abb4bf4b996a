-- Ends that a job waits for others, and counts it no more at those it waited for.
with removed as (
    delete from job_dependency
    where job_id = $1 and parent_id = any($2::uuid[])
    returning parent_id
)
update job p
set dependants = greatest(p.dependants - 1, 0)
from removed r
where p.id = r.parent_id
