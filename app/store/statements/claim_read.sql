-- Reads in one go what a batch of claims is decided on: factories, new classes, and heads.
-- $1–$4 as factory_read, $5 as class_new, $6–$19 as claim_heads_all.
-- Classes and heads stand in the first row, the heads column by column.
with fact as materialized (
    {factory_read}
),
head as materialized (
    {claim_heads_all+5}
)
select
    case when f.nth = 1 then f.now end as now,
    f.id, f.version, f.capabilities, f.engines, f.warm_repos, f.repos, f.declared_cost_ceiling,
    f.ops_cost_ceiling, f.seat_limit, f.used, f.external_load, f.health, f.seen, f.bad,
    f.drain_reason, f.drain_by, f.drain_until, f.pause_reason, f.pause_by, f.pause_until,
    f.quarantined_until, f.account, f.cooldown_until, f.last_served_at, f.epoch,
    c.new_classes, s.xmin, h.*
from (select row_number() over (order by ord) as nth, fact.* from fact) f
left join (select pg_snapshot_xmin(pg_current_snapshot())::text::bigint as xmin) s on f.nth = 1
left join (
    select jsonb_agg(to_jsonb(j) order by j.id) as new_classes
    from (select * from job_class where created_xid >= $5::bigint order by created_xid) j
) c on f.nth = 1
left join (
    select
        array_agg(class_id) as class_ids,
        array_agg(kin) as kins,
        array_agg(in_repo) as in_repos,
        array_agg(lock) as locks,
        array_agg(id) as job_ids,
        array_agg(version) as versions,
        array_agg(repo) as repos_of,
        array_agg(created_at) as times
    from head
) h on f.nth = 1
order by f.nth
