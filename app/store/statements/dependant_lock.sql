-- Locks the unfinished jobs that depend on these, in the order of their ids.
-- Read their lives in the next statement: this one's snapshot is as old as its wait.
select j.id
from job j
where j.id in (select d.job_id from job_dependency d where d.parent_id = any($1::uuid[]))
    and j.state not in ('succeeded', 'dead', 'cancelled')
order by j.id
for no key update
