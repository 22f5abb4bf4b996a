-- Locks jobs and the parents of each, in the order of their ids.
select id
from job
where id in (
    select unnest($1::uuid[])
    union
    select parent_id from job_dependency where job_id = any($1::uuid[])
)
order by id
for no key update
