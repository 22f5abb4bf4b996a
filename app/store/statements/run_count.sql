-- Counts the runs of a repo that started since a time; those withdrawn were none.
select count(*)
from repo_run
where repo_id = $1 and started_at >= $2 and status <> 'withdrawn'
