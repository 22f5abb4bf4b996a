-- Counts the workflows of a project that are not finished.
select count(*) from workflow where project_id = $1 and (finished_at is null or processing)
