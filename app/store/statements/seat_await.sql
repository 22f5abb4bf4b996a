-- Notes that a claim waits for a seat of each of these factories that is still full; names those.
-- Rows are locked in the order of their key, as in every statement: an index may find them in another.
with full_now as materialized (
    select factory_id
    from factory_seat
    where factory_id = any($1::text[]) and used >= seat_limit
    order by factory_id
    for no key update
),
full_all as materialized (select array_agg(factory_id) as ids from full_now)
update factory_seat
set awaited = true
where factory_id = any((select ids from full_all)::text[]) and used >= seat_limit
returning factory_id
