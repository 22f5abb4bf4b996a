-- Deletes a project with its workflows.
delete from project where id = $1
