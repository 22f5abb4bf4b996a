-- Stores a new workflow.
insert into workflow (
    id, project_id, kind, title, prompt, position, status, processing, auto_run, run_requested,
    pr_url, review, review_at, review_comments, tracks_after_merge, has_uat, uat_test_at,
    merged_at, stage_attempt, stage_failures, needs_human_reason, pause_reason, pause_by,
    pause_until, clone_key, job_id, finished_at
)
values (
    $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20,
    $21, $22, $23, $24, $25, $26, $27
)
