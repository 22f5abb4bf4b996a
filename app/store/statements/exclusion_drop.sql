-- Moves ready jobs of a class ($1) to another ($2), at most $3 of them; passes over locked ones.
with found as materialized (
    select id, version
    from job
    where class_id = $1 and state = 'ready'
    order by id
    limit $3
    for no key update skip locked
)
update job b
set class_id = $2,
    kin = coalesce((select kin_key from job_class where id = $2), ''::bytea),
    version = b.version + 1,
    updated_at = now()
from found f
where b.id = f.id and b.version = f.version
returning b.id
