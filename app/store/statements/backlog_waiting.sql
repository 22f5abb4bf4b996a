-- Counts the jobs of each waiting state up to a bound ($1); each state has its part of an index.
select state, waiting
from (
    select 'blocked' as state, count(*) as waiting
    from (select from job where state = 'blocked' order by id limit $1) counted
    union all
    select 'scheduled', count(*)
    from (select from job where state = 'scheduled' order by id limit $1) counted
    union all
    select 'held', count(*)
    from (select from job where state = 'held' order by id limit $1) counted
) each_state
where waiting > 0
