-- Reads decisions by id.
select id, at, factory_id, job_id, fence, total, record from decision where id = any($1::uuid[])
