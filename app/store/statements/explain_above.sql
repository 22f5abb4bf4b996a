-- Reads what a job waits for: its unfinished parents, theirs, and so on, the nearest first.
-- $2 how far up; $3 how many dependencies.
with recursive up (job_id, parent_id, depth) as (
    select d.job_id, d.parent_id, 1
    from job_dependency d
    join job p on p.id = d.parent_id
    where d.job_id = $1 and p.state not in ('succeeded', 'dead', 'cancelled')
    union
    select d.job_id, d.parent_id, up.depth + 1
    from up
    cross join lateral (
        select e.job_id, e.parent_id
        from job_dependency e
        join job p on p.id = e.parent_id
        where e.job_id = up.parent_id and p.state not in ('succeeded', 'dead', 'cancelled')
        offset 0
    ) d
    where up.depth < $2
)
select job_id, parent_id from up limit $3
