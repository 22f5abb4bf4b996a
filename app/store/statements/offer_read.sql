-- Reads what each factory offers and whether it is being drained, and the time; one row at least.
select now() as now, f.id, f.capabilities, f.engines, f.drain_reason, f.drain_by, f.drain_until
from (select 1) always
left join factory f on true
order by f.id
