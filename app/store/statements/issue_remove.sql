-- Deletes an issue.
delete from repo_issue where repo_id = $1 and number = $2
