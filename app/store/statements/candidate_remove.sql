-- Deletes a candidate.
delete from repo_candidate where id = $1
