-- Changes an issue that is still at the version that was read.
update repo_issue
set title = $4,
    score = $5,
    solutions_wanted = $6,
    solutions_done = $7,
    status = $8,
    failures = $9,
    next_try_at = $10,
    version = version + 1
where repo_id = $1 and number = $2 and version = $3
returning number
