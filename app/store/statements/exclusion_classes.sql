-- Reads the classes that exclude factories and have a ready job.
select c.id, c.required, c.prefers_engine, c.cost_class, c.priority, c.lock, c.excluded
from job_class c
where c.excluded <> '{}'
    and exists (select from job b where b.class_id = c.id and b.state = 'ready')
