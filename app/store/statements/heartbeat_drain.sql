-- Tells whether a factory should finish what it holds and stop claiming.
select drain_reason is not null and coalesce(drain_until > now(), true) as drain
from factory
where id = $1
