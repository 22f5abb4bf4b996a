-- Reads classes by id.
select id, required, prefers_engine, cost_class, priority, lock, excluded
from job_class
where id = any($1::bigint[])
