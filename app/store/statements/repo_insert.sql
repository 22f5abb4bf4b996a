-- Stores a new repo, unless there is one of that id.
insert into repo (
    id, enabled, objective, focus, focus_candidate_id, explore_enabled, explore_level,
    pr_watching_enabled, issue_solving_enabled, issue_scout_enabled, daily_run_cap, cooldown_s,
    timezone, last_run_at, pause_reason, pause_by, pause_until, required_capabilities, job_defaults,
    github
) values (
    $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20
)
on conflict (id) do nothing
returning id
