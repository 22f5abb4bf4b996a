-- Reads the candidates of a repo, oldest first.
select id, version, focus, score, status, failures, created_at
from repo_candidate
where repo_id = $1
order by created_at, id
