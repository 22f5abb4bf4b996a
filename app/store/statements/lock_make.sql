-- Makes the permanent rows of locks, in the order of their names.
insert into job_lock (name)
select name from unnest($1::text[]) as wanted (name) order by name
on conflict (name) do nothing
