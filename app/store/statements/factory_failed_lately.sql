-- Finds factories where a lease failed within the last $1 seconds.
select f.id
from factory f
where exists (
    select
    from job_event e
    where e.factory_id = f.id
        and e.outcome is not null
        and e.at > now() - make_interval(secs => $1)
        and e.outcome = 'failed'
)
order by f.id
