-- Finds locks that nobody holds and no class names, among $2 from a place ($1, a share of the table)
-- on, and keeps others from them; passes over those that a class is being made for.
with looked as materialized (
    select name
    from job_lock
    where ctid >= (
        select
            format(
                '(%s,0)',
                floor(
                    $1::float8 * pg_relation_size('job_lock') / current_setting('block_size')::int
                )
            )::tid
    )
    limit $2
),
idle as materialized (
    select k.name
    from looked k
    where (select c.id from job_class c where c.lock = k.name limit 1) is null
)
select name
from job_lock
where name = any((select array_agg(name) from idle)::text[]) and holder_job is null
order by name
for update skip locked
