-- Adds to events of this transaction the leases that were claimed in the same call.
update job_event set detail = detail || jsonb_build_object('claims', $2::jsonb)
where id = any($1::bigint[])
