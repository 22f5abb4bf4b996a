-- Writes what the law decided on leases, each compared with the reading it was decided on: the
-- version, the parents left and, if its fence was open under a lock, the lock's row. A seat that
-- is taken must be there: a factory that was removed has none, and what it holds is left out, too.
-- Order of row locks: factory_seat, job, job_lock, each by key; a step is forced to finish by
-- aggregating it. Jobs that moved meanwhile are left out of the answer.
with want as materialized (
    select *
    from jsonb_to_recordset($1::jsonb) as w (
        id uuid, version bigint, parents_left_was int, fence bigint, holder text, lock text,
        seat_delta int, lock_action text, class_id bigint, state text, fence_open boolean,
        seated boolean, lease_s int, lease_expires_at timestamptz, attempts int,
        run_after timestamptz, parents_left int, cancel_requested_at timestamptz,
        cancel_deadline_at timestamptz, hold_reason text, hold_by text, hold_until timestamptz,
        wake_at timestamptz, error text
    )
),
seat as materialized (
    select factory_id
    from factory_seat
    where factory_id = any(
        (select array_agg(distinct holder) from want where seat_delta <> 0)::text[]
    )
    order by factory_id
    for no key update
),
seat_all as materialized (
    select coalesce(array_agg(factory_id), '{}') as ids, count(*) as n from seat
),
class_now as materialized (
    select c.id, c.kin_key
    from job_class c
    where c.id = any((select array_agg(distinct class_id) from want)::bigint[])
    order by c.id
    for key share
),
class_all as materialized (select array_agg(id) as ids from class_now),
held as materialized (
    select w.id, w.lock
    from want w
    join job b on b.id = w.id
    where b.version = w.version
        and b.parents_left = w.parents_left_was
        and w.class_id = any((select ids from class_all)::bigint[])
        and (select n from seat_all) >= 0
        and (w.seat_delta <= 0 or w.holder = any((select ids from seat_all)::text[]))
    order by b.id
    for no key update of b
),
held_all as materialized (select array_agg(id) as ids from held),
lock_now as materialized (
    select w.id
    from want w
    join job_lock l on l.name = w.lock
    where w.id = any((select ids from held_all)::uuid[])
        and l.holder_job = w.id
        and l.holder_fence = w.fence
    order by l.name
    for no key update of l
),
lock_all as materialized (select array_agg(id) as ids from lock_now),
moved as (
    update job b
    set version = b.version + 1,
        updated_at = now(),
        class_id = w.class_id,
        kin = c.kin_key,
        state = w.state,
        fence_open = w.fence_open,
        seated = w.seated,
        lease_s = w.lease_s,
        lease_expires_at = w.lease_expires_at,
        attempts = w.attempts,
        run_after = w.run_after,
        parents_left = w.parents_left,
        cancel_requested_at = w.cancel_requested_at,
        cancel_deadline_at = w.cancel_deadline_at,
        hold_reason = w.hold_reason,
        hold_by = w.hold_by,
        hold_until = w.hold_until,
        wake_at = w.wake_at,
        error = coalesce(w.error, b.error),
        finished_at = case when w.state in ('succeeded', 'dead', 'cancelled') then now() end
    from want w
    join class_now c on c.id = w.class_id
    where b.id = w.id
        and b.version = w.version
        and b.id = any((select ids from held_all)::uuid[])
        and (w.lock is null or b.id = any((select ids from lock_all)::uuid[]))
    returning
        b.id, b.version, b.dependants, w.holder, w.seat_delta, w.lock, w.lock_action
),
locked as (
    update job_lock l
    set holder_job = case when m.lock_action <> 'free' then l.holder_job end,
        holder_fence = case when m.lock_action <> 'free' then l.holder_fence end,
        lapsed = m.lock_action = 'lapse'
    from moved m
    where l.name = m.lock and m.lock_action <> 'keep'
),
counted as (
    update factory_seat s
    set used = s.used + n.delta
    from (select holder, sum(seat_delta) as delta from moved group by holder) n
    where s.factory_id = n.holder and n.delta <> 0
    returning s.factory_id, s.used - n.delta >= s.seat_limit as was_full, s.used, s.seat_limit
)
select
    m.id,
    m.version,
    m.dependants,
    coalesce(m.seat_delta < 0 and n.was_full, false) as seat_opened,
    coalesce(n.used > n.seat_limit, false) as over_committed
from moved m
left join counted n on n.factory_id = m.holder
