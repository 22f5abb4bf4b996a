-- Deletes those of these classes that no job belongs to any more; passes over those in use. Tells
-- their locks.
with idle as materialized (
    select c.id
    from job_class c
    where c.id = any($1::bigint[])
        and not exists (select from job b where b.class_id = c.id)
    order by c.id
    for update skip locked
)
delete from job_class where id in (select id from idle)
returning lock
