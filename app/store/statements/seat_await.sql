-- Notes that a claim waits for a seat of each of these factories that is still full; names those.
update factory_seat
set awaited = true
where factory_id = any($1::text[]) and used >= seat_limit
returning factory_id
