-- Registers a factory with its seats and its first sign of life, unless someone else just did.
-- Leases that run under its name are counted: before 0007 some could outlive its removal.
with made as (
    insert into factory (
        id, capabilities, engines, declared_cost_ceiling, declared_seat_limit, ops_cost_ceiling,
        ops_seat_limit, account, labels
    )
    values ($1, $2::text[], $3::text[], $4, $5, $6, $7, $8, $9::jsonb)
    on conflict (id) do nothing
    returning id
),
seat as (
    insert into factory_seat (factory_id, seat_limit, used)
    select
        m.id,
        coalesce($7, $5),
        (select count(*) from job b where b.holder = m.id and b.fence_open and b.seated)
    from made m
),
pulse as (
    insert into factory_pulse (factory_id, health, external_load, warm_repos)
    select id, $10, $11, $12::text[] from made
)
select count(*) = 1 as registered from made
