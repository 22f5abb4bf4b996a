-- Stores a new project.
insert into project (
    id, name, local_directory, repo, required, prefers_engine, priority, cost_class, timeout_s,
    attempts_max, pause_reason, pause_by, pause_until
)
values (
    $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13
)
