-- Changes a pull request that is still at the version that was read.
update repo_pull
set head_sha = $4, status = $5, attempt = $6, job_id = $7, version = version + 1
where repo_id = $1 and number = $2 and version = $3
returning number
