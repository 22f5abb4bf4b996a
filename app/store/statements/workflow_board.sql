-- Reads the workflows that a tick looks at, in order: all but those that are finished for good.
select
    id, version, project_id, kind, title, prompt, position, status, processing, auto_run,
    run_requested, pr_url, review, review_at, review_comments, tracks_after_merge, has_uat,
    uat_test_at, merged_at, stage_attempt, stage_failures, needs_human_reason, pause_reason,
    pause_by, pause_until, clone_key, job_id, finished_at
from workflow
where finished_at is null or processing
order by position, id
