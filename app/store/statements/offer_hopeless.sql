-- Tells which of these classes no registered factory that stays may ever take, and the time.
-- One row at least. An engine is offered as the capability 'engine:' and its name.
select now() as now, c.id as class_id
from (select 1) always
left join (
    select j.id
    from job_class j
    where j.id = any($1::bigint[])
        and not exists (
            select from factory f
            where f.capabilities
                || array(select 'engine:' || e.name from unnest(f.engines) as e (name))
                @> j.required
                and f.id <> all(j.excluded)
                and (f.drain_reason is null or f.drain_until <= now())
        )
) c on true
