-- Reads each factory's newest outcomes that count for quarantine, those since it was lifted.
-- $1 ids; $2 the outcomes that say something about a machine; $3 how many. Factories without any
-- are left out.
select
    f.id, past.outcomes, past.claimed, past.ended,
    exists (
        select
        from job_event
        where factory_id = f.id and outcome = 'succeeded' and at > f.quarantined_until
    ) as succeeded_since
from unnest($1::text[]) as wanted (id)
join factory f on f.id = wanted.id
cross join lateral (
    select
        array_agg(e.outcome) as outcomes,
        array_agg(e.claimed_at) as claimed,
        array_agg(e.at) as ended
    from (
        select outcome, claimed_at, at
        from job_event
        where factory_id = f.id
            and outcome is not null
            and outcome = any($2::text[])
            and claimed_at is not null
            and at > coalesce(f.quarantine_lifted_at, '-infinity')
        order by at desc
        limit $3
    ) e
) past
where past.outcomes is not null
