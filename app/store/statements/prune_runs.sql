-- Deletes runs of repos that ended longer than $1 ago, at most $2.
with old as materialized (
    select id
    from repo_run
    where finished_at < now() - $1::interval
    order by finished_at
    limit $2
    for update skip locked
)
delete from repo_run where id = any((select array_agg(id) from old)::uuid[])
