-- Reads what happened under these fences of a job, in order.
select fence, at, event, outcome, by, factory_id
from job_event
where job_id = $1 and fence = any($2::bigint[])
order by id
