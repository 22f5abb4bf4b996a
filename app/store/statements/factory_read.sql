-- Reads factories whole: settings, signs of life, seats, recent outcomes, warm repos, cool-down.
-- $1 ids; $2 the outcomes that say something about a machine; $3 how many of them; $4 how many
-- repos. A factory without an account has a private one, named by a control character and its id.
select
    statement_timestamp() as now,
    f.id, f.version, f.capabilities, f.engines, f.declared_cost_ceiling, f.declared_seat_limit,
    f.ops_cost_ceiling, f.ops_seat_limit, f.account, f.labels, f.drain_reason, f.drain_by,
    f.drain_until, f.pause_reason, f.pause_by, f.pause_until, f.quarantined_until, f.registered_at,
    p.last_seen_at, p.health, p.external_load, p.warm_repos,
    s.seat_limit, s.used, s.epoch, s.last_served_at,
    a.cooldown_until,
    past.seen, past.bad,
    warm.repos,
    wanted.ord
from unnest($1::text[]) with ordinality as wanted (id, ord)
join factory f on f.id = wanted.id
join factory_pulse p on p.factory_id = f.id
join factory_seat s on s.factory_id = f.id
left join lateral (
    select cooldown_until from account where name = coalesce(f.account, e'\x1f' || f.id) limit 1
) a on true
cross join lateral (
    select count(*) as seen, count(*) filter (where e.outcome <> 'succeeded') as bad
    from (
        select outcome
        from job_event
        where factory_id = f.id
            and outcome is not null
            and outcome = any($2::text[])
            and claimed_at is not null
            and at >= statement_timestamp() - interval '24 hours'
        order by at desc
        limit $3
    ) e
) past
cross join lateral (
    select array_agg(r.repo) as repos
    from (
        select repo
        from factory_repo
        where factory_id = f.id and succeeded_at >= statement_timestamp() - interval '24 hours'
        order by succeeded_at desc, repo
        limit $4
    ) r
) warm
where f.id = any($1::text[])
order by wanted.ord
