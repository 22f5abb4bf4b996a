-- Changes a repo that is still at the version that was read.
update repo
set enabled = $2,
    objective = $3,
    focus = $4,
    focus_candidate_id = $5,
    explore_enabled = $6,
    explore_level = $7,
    pr_watching_enabled = $8,
    issue_solving_enabled = $9,
    issue_scout_enabled = $10,
    daily_run_cap = $11,
    cooldown_s = $12,
    timezone = $13,
    last_run_at = $14,
    pause_reason = $15,
    pause_by = $16,
    pause_until = $17,
    required_capabilities = $18,
    job_defaults = $19,
    github = $20,
    version = version + 1,
    updated_at = now()
where id = $1 and version = $21
returning version
