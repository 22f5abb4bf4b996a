-- Finds the repos that a repository of the forge belongs to.
select id from repo where lower(github) = lower($1) order by id
