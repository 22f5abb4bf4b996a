-- Reads the pull requests of a repo, by number.
select id, number, version, head_sha, status, attempt, job_id
from repo_pull
where repo_id = $1
order by number
