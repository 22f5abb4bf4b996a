-- Deletes a pull request.
delete from repo_pull where repo_id = $1 and number = $2
