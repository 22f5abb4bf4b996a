-- Reads every dependency on the way up from these jobs.
-- Offset 0 keeps each step a look-up by index: the planner expects far more steps than there are.
with recursive up (job_id, parent_id) as (
    select job_id, parent_id from job_dependency where job_id = any($1::uuid[])
    union
    select d.job_id, d.parent_id
    from up
    cross join lateral (
        select job_id, parent_id from job_dependency where job_id = up.parent_id offset 0
    ) d
)
select job_id, parent_id from up
