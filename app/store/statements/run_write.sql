-- Ends a run that is under way.
update repo_run
set status = $2, finished_at = $3
where id = $1 and status = 'running'
returning id
