-- Makes jobs wait for others, and counts them at those they wait for.
with added as (
    insert into job_dependency (job_id, parent_id)
    select * from unnest($1::uuid[], $2::uuid[])
    on conflict do nothing
    returning parent_id
)
update job p
set dependants = p.dependants + a.children
from (select parent_id, count(*) as children from added group by parent_id) a
where p.id = a.parent_id
