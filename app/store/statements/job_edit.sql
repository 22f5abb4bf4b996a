-- Replaces what is to be run of a job at this version; its place and its version are written next.
update job
set class_id = $3,
    repo = $4,
    payload = $5,
    labels = $6,
    if_parent_fails = $7,
    timeout_s = $8,
    attempts_max = $9,
    dedupe_key = $10
where id = $1 and version = $2
returning id
