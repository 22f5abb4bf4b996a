-- Lists the runs of a repo, newest first, older than one of them.
select id, repo_id, kind, status, job_id, candidate_id, issue_number, started_at, finished_at
from repo_run
where repo_id = $1 and ($2::uuid is null or id < $2)
order by id desc
limit $3
