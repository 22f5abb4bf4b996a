-- Locks jobs that others will depend on, in the order of their ids, so that none ends meanwhile.
select id, state from job where id = any($1::uuid[]) order by id for no key update
