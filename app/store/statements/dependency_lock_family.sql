-- Locks jobs and the parents of each, in the order of their ids.
select id
from job
where id = any($1::uuid[])
    or id in (select parent_id from job_dependency where job_id = any($1::uuid[]))
order by id
for no key update
