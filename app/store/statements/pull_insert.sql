-- Stores a new pull request of a repo.
insert into repo_pull (repo_id, number, id, head_sha, status, attempt, job_id)
values ($1, $2, $3, $4, $5, $6, $7)
