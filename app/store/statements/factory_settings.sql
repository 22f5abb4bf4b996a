-- Reads what a change of a factory starts from.
select
    statement_timestamp() as now,
    id, version, capabilities, engines, declared_cost_ceiling, declared_seat_limit,
    ops_cost_ceiling, ops_seat_limit, account, labels, drain_reason, drain_by, drain_until,
    pause_reason, pause_by, pause_until, quarantined_until, quarantine_strikes, quarantine_lifted_at
from factory
where id = any($1::text[])
order by id
