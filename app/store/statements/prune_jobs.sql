-- Deletes jobs that succeeded or were cancelled longer than $1 ago, at most $2, with their history.
-- The dead are the dead letter and stay until somebody retries or cancels them.
with old as materialized (
    select id
    from job
    where finished_at < now() - $1::interval and state in ('succeeded', 'cancelled')
    order by finished_at
    limit $2
    for update skip locked
),
old_all as materialized (select array_agg(id) as ids from old),
untold as (delete from job_event where job_id = any((select ids from old_all)::uuid[])),
undecided as (delete from decision where job_id = any((select ids from old_all)::uuid[])),
gone as (delete from job where id = any((select ids from old_all)::uuid[]) returning class_id)
select class_id, count(*) as jobs from gone group by class_id
