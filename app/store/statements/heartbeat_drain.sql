-- Tells which factories should finish what they hold and stop claiming.
select id, drain_reason is not null and coalesce(drain_until > now(), true) as drain
from factory
where id = any($1::text[])
