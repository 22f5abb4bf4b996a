-- Writes signs of life: of each factory the newest word, and not again within the pause $6.
-- $5 holds lists as JSON. Tells which are up again after they had reported themselves down. Rows
-- are locked in the order of their key, and all of them before the first is written.
with beat as materialized (
    select id, seen, health, external_load, warm_repos::jsonb as warm_repos
    from unnest($1::text[], $2::boolean[], $3::text[], $4::int[], $5::text[])
        as b (id, seen, health, external_load, warm_repos)
),
due as materialized (
    select p.factory_id, p.health
    from factory_pulse p
    join beat b on b.id = p.factory_id
    where p.factory_id = any($1::text[])
        and (
            (b.seen and p.last_seen_at < now() - make_interval(secs => $6))
            or b.health <> p.health
            or b.external_load <> p.external_load
            or b.warm_repos <> to_jsonb(p.warm_repos)
        )
    order by p.factory_id
    for no key update of p
),
due_all as materialized (select array_agg(factory_id) as ids from due),
written as (
    update factory_pulse p
    set last_seen_at = case when b.seen then greatest(p.last_seen_at, now()) else p.last_seen_at end,
        health = coalesce(b.health, p.health),
        external_load = coalesce(b.external_load, p.external_load),
        warm_repos = case
            when b.warm_repos is null then p.warm_repos
            else array(select jsonb_array_elements_text(b.warm_repos))
        end
    from beat b
    where b.id = p.factory_id and p.factory_id = any((select ids from due_all)::text[])
    returning p.factory_id, p.health
)
select w.factory_id, d.health = 'down' and w.health <> 'down' as up_again
from written w
join due d using (factory_id)
