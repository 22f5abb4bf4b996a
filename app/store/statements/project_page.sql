-- Lists projects, the oldest first, after one of them; of one name, if it is given.
select
    id, version, name, local_directory, repo, required, prefers_engine, priority, cost_class,
    timeout_s, attempts_max, pause_reason, pause_by, pause_until, created_at, updated_at
from project
where id > coalesce($1::uuid, '00000000-0000-0000-0000-000000000000')
    and ($3::text is null or name = $3)
order by id
limit $2
