-- Reads repos, in the order of their ids.
select id, version, enabled, objective, focus, focus_candidate_id, explore_enabled, explore_level,
    pr_watching_enabled, issue_solving_enabled, issue_scout_enabled, daily_run_cap, cooldown_s,
    timezone, last_run_at, pause_reason, pause_by, pause_until, required_capabilities, job_defaults,
    github,
    last_cycle, created_at, updated_at
from repo
where id = any($1::text[])
order by id
