-- Reads the classes of transactions that may have committed since the reader last looked.
select
    c.id, c.required, c.prefers_engine, c.cost_class, c.priority, c.lock, c.excluded,
    s.xmin
from (select pg_snapshot_xmin(pg_current_snapshot())::text::bigint as xmin) s
left join (
    select * from job_class where created_xid >= $1::bigint order by created_xid
) c on true
