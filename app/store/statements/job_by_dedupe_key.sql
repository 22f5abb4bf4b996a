-- Finds the jobs that have these dedupe keys.
select dedupe_key, id from job where dedupe_key = any($1::text[])
