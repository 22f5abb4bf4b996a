-- Stores a run of a repo that begins.
insert into repo_run (id, repo_id, kind, status, job_id, candidate_id, issue_number, started_at, finished_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
