-- Counts the jobs of each waiting state up to a bound.
select s.state, n.waiting
from unnest($1::text[]) as s (state)
cross join lateral (
    select count(*) as waiting from (select 1 from job where state = s.state limit $2) counted
) n
where n.waiting > 0
