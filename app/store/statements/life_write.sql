-- Moves jobs that are still as they were read: at the version, and with as many parents left. One
-- that is dead and cancelled then has finished by that: it is kept as long as any other from now on.
update job j
set version = j.version + 1,
    updated_at = now(),
    state = w.state,
    fence_open = w.fence_open,
    attempts = w.attempts,
    run_after = w.run_after,
    parents_left = w.parents_left,
    cancelled_by_parent = w.cancelled_by_parent,
    cancel_requested_at = w.cancel_requested_at,
    cancel_deadline_at = w.cancel_deadline_at,
    hold_reason = w.hold_reason,
    hold_by = w.hold_by,
    hold_until = w.hold_until,
    wake_at = w.wake_at,
    finished_at = case
        when w.state not in ('succeeded', 'dead', 'cancelled') then null
        when w.state = j.state then j.finished_at
        else now()
    end
from unnest(
    $1::uuid[], $2::bigint[], $3::int[], $4::text[], $5::boolean[], $6::int[], $7::timestamptz[],
    $8::int[], $9::uuid[], $10::timestamptz[], $11::timestamptz[], $12::text[], $13::text[],
    $14::timestamptz[], $15::timestamptz[]
) as w (
    id, version, parents_left_was, state, fence_open, attempts, run_after, parents_left,
    cancelled_by_parent, cancel_requested_at, cancel_deadline_at, hold_reason, hold_by, hold_until,
    wake_at
)
where j.id = w.id and j.version = w.version and j.parents_left = w.parents_left_was
returning j.id, j.dependants
