-- Changes a project that is still at the version that was read.
update project
set version = version + 1,
    updated_at = now(),
    name = $2,
    local_directory = $3,
    repo = $4,
    required = $5,
    prefers_engine = $6,
    priority = $7,
    cost_class = $8,
    timeout_s = $9,
    attempts_max = $10,
    pause_reason = $11,
    pause_by = $12,
    pause_until = $13
where id = $1 and version = $14
returning id
