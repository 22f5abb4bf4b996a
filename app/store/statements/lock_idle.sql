-- Finds those of these locks that nobody holds and no class names, and keeps others from them; passes
-- over those that a class is being made for. Whether one was meanwhile, the next statement sees.
select l.name
from job_lock l
where l.name = any($1::text[])
    and l.holder_job is null
    and not exists (select from job_class c where c.lock = l.name)
order by l.name
for update of l skip locked
