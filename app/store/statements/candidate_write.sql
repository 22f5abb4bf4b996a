-- Changes a candidate that is still at the version that was read.
update repo_candidate
set focus = $3, score = $4, status = $5, failures = $6, version = version + 1
where id = $1 and version = $2
returning id
