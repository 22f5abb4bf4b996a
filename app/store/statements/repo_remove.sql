-- Deletes a repo with all that belongs to it.
delete from repo where id = $1
