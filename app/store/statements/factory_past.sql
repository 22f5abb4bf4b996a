-- Reads each factory's newest outcomes that count for quarantine, those since it was lifted.
-- $1 ids; $2 the outcomes that say something about a machine; $3 how many.
select f.id, e.outcome, e.claimed_at, e.at as ended_at
from unnest($1::text[]) as wanted (id)
join factory f on f.id = wanted.id
cross join lateral (
    select outcome, claimed_at, at
    from job_event
    where factory_id = f.id
        and outcome is not null
        and outcome = any($2::text[])
        and claimed_at is not null
        and at > coalesce(f.quarantine_lifted_at, '-infinity')
    order by at desc, claimed_at desc, id desc
    limit $3
) e
