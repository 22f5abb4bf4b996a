-- Finds classes by their digests, and tells of each whether no registered factory that stays may
-- ever take it; and the time. One row at least. An engine is offered as the capability 'engine:' and
-- its name.
select now() as now, c.digest, c.id, c.kin, c.hopeless
from (select 1) always
left join (
    select
        j.digest,
        j.id,
        j.kin_key as kin,
        not exists (
            select from factory f
            where f.capabilities
                || array(select 'engine:' || e.name from unnest(f.engines) as e (name))
                @> j.required
                and f.id <> all(j.excluded)
                and (f.drain_reason is null or f.drain_until <= now())
        ) as hopeless
    from job_class j
    where j.digest = any($1::bytea[])
) c on true
