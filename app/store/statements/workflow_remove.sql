-- Deletes a workflow that is still at the version that was read.
delete from workflow where id = $1 and version = $2 returning id
