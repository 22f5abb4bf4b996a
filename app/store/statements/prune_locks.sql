-- Deletes those of these locks, kept by the transaction, that no class names. By a statement of its
-- own: a class that was made before its lock was kept is seen by now, and another cannot be made.
delete from job_lock l
where l.name = any($1::text[]) and not exists (select from job_class c where c.lock = l.name)
