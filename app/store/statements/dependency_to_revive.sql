-- Finds the dependants of jobs begun again: those that waited, and those cancelled because of them.
select distinct j.id
from job_dependency d
join job j on j.id = d.job_id
where d.parent_id = any($1::uuid[])
    and (
        j.state in ('blocked', 'scheduled', 'ready', 'held', 'leased')
        or (j.state = 'cancelled' and j.cancelled_by_parent = any($1::uuid[]))
    )
