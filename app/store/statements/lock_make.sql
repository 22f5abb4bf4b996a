-- Makes the rows of locks that are new, in the order of their names, and keeps all of them from
-- being deleted until the transaction ends. One that came or went in this moment is left out of the
-- answer.
with made as (
    insert into job_lock (name)
    select name from unnest($1::text[]) as wanted (name) order by name
    on conflict (name) do nothing
    returning name
),
kept as materialized (
    select name from job_lock where name = any($1::text[]) order by name for key share
)
select name from made
union all
select name from kept
