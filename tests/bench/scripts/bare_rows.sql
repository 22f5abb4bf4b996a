-- Fills the bare table with as many rows as are asked for.
insert into bare (id, version, state)
select ('01980000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 1, 'ready'
from generate_series(1, $1::bigint) as n
