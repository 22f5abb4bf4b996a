-- Reads every dependency on the way up from these jobs.
with recursive up (job_id, parent_id) as (
    select job_id, parent_id from job_dependency where job_id = any($1::uuid[])
    union
    select d.job_id, d.parent_id from job_dependency d join up on d.job_id = up.parent_id
)
select job_id, parent_id from up
