-- Deletes classes that no job belongs to, among $2 of them from a place ($1, a share of all) on.
-- Classes lose their last job by edits and exclusions, too, not only when that is deleted. Each is
-- looked up by itself: a join would read all jobs. Tells their locks.
with looked as materialized (
    select id
    from job_class
    where id >= (select floor($1::float8 * max(id))::bigint from job_class)
    order by id
    limit $2
),
idle as materialized (
    select c.id
    from looked k
    join job_class c on c.id = k.id
    where (select b.id from job b where b.class_id = c.id limit 1) is null
    order by c.id
    for update of c skip locked
)
delete from job_class where id in (select id from idle)
returning lock
