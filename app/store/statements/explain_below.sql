-- Reads the jobs that wait for a job, or for those that do, the nearest first. $2 how many.
with recursive down (id, depth) as (
    select d.job_id, 1 from job_dependency d where d.parent_id = $1
    union
    select d.job_id, down.depth + 1
    from down
    cross join lateral (
        select e.job_id from job_dependency e where e.parent_id = down.id offset 0
    ) d
    where down.depth < 100
)
select down.id, down.depth, j.state
from (select id, depth from down limit $2) down
join job j on j.id = down.id
order by down.depth, down.id
