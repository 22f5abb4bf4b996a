-- Lists repos by id, after one of them.
select id, version, enabled, objective, focus, focus_candidate_id, explore_enabled, explore_level,
    pr_watching_enabled, issue_solving_enabled, issue_scout_enabled, daily_run_cap, cooldown_s,
    timezone, last_run_at, pause_reason, pause_by, pause_until, required_capabilities, job_defaults,
    github,
    last_cycle, created_at, updated_at
from repo
where $1::text is null or id > $1
order by id
limit $2
