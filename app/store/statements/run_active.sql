-- Reads the run of a repo that is under way.
select id, repo_id, kind, status, job_id, candidate_id, issue_number, started_at, finished_at
from repo_run
where repo_id = $1 and status = 'running'
