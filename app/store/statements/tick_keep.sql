-- Stores the report of a tick.
insert into tick (id, kind, "window", at, report, reasons)
values ($1, $2, $3, now(), $4::jsonb, $5::jsonb)
