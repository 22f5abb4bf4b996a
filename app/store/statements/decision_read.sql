-- Reads one decision.
select id, at, factory_id, job_id, fence, total, record from decision where id = $1
