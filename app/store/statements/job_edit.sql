-- Replaces what is to be run of a job at this version; its place and its version are written next.
update job
set class_id = $3,
    -- Of a class that was pruned meanwhile: none, so that it is refused as that.
    kin = coalesce((select kin_key from job_class where id = $3), ''::bytea),
    repo = $4,
    payload = $5,
    labels = $6,
    if_parent_fails = $7,
    timeout_s = $8,
    attempts_max = $9,
    dedupe_key = $10
where id = $1 and version = $2
returning id
