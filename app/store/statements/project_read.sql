-- Reads projects whole.
select
    id, version, name, local_directory, repo, required, prefers_engine, priority, cost_class,
    timeout_s, attempts_max, pause_reason, pause_by, pause_until, created_at, updated_at
from project
where id = any($1::uuid[])
