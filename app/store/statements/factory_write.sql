-- Changes a factory that is still at the version that was read, and moves its epoch.
-- Order of row locks: factory_seat, then factory. The seat's row is taken first by reading it into
-- a scalar that the update needs.
with seat as materialized (
    select factory_id from factory_seat where factory_id = $1 for no key update
),
changed as (
    update factory
    set version = version + 1,
        updated_at = now(),
        capabilities = $3::text[],
        engines = $4::text[],
        declared_cost_ceiling = $5,
        declared_seat_limit = $6,
        ops_cost_ceiling = $7,
        ops_seat_limit = $8,
        account = $9,
        labels = $10::jsonb,
        drain_reason = $11,
        drain_by = $12,
        drain_until = $13,
        pause_reason = $14,
        pause_by = $15,
        pause_until = $16,
        quarantined_until = $17,
        quarantine_strikes = $18,
        quarantine_lifted_at = $19
    where id = (select factory_id from seat) and version = $2
    returning id
),
moved as (
    update factory_seat s
    set epoch = s.epoch + 1, seat_limit = coalesce($8, $6)
    from changed
    where s.factory_id = changed.id
)
select count(*) = 1 as written from changed
