-- Reads what each factory offers, how it says it is, and whether it is being drained; and the time.
-- One row at least.
select
    now() as now, f.id, f.capabilities, f.engines, p.health, f.drain_reason, f.drain_by,
    f.drain_until
from (select 1) always
left join (factory f join factory_pulse p on p.factory_id = f.id) on true
order by f.id
