-- Deletes successes so old ($3) that their repo is not warm by them, among $2 from a place on: that
-- of a factory ($1, a share of all). What somebody succeeds at just now is passed over.
with place as materialized (
    select id
    from factory
    order by id
    offset (select floor($1::float8 * count(*))::bigint from factory)
    limit 1
),
looked as materialized (
    select factory_id, repo
    from factory_repo
    where factory_id >= (select id from place)
    order by factory_id, repo
    limit $2
),
old as materialized (
    select r.factory_id, r.repo
    from looked k
    join factory_repo r on r.factory_id = k.factory_id and r.repo = k.repo
    where r.succeeded_at < now() - $3::interval
    for update of r skip locked
)
delete from factory_repo r using old o where r.factory_id = o.factory_id and r.repo = o.repo
