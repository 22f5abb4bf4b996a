-- Commits picks: each becomes a lease, or says which of five facts had moved. Its time is that of
-- the statement: in a turn, the transaction began before the turn was waited for.
-- Order of row locks: factory_seat, job, job_lock. A step that locks rows is forced to finish by
-- aggregating it before the next one reads the result; merely joined, the locks would interleave.
-- Rows are named by their keys, so that no plan, however little there was when it was made, reads an
-- index whole: one by one behind a "limit 1", or, where an update cannot, by a list of keys. What is
-- wanted is looked up by its place in the arrays, as joining steps of a large batch is quadratic.
-- A leased job is told as the snapshot shows it, with what this changed beside it: that it is still
-- at the version that was wanted was seen under its lock, and steps that carry whole rows are slow.
with want as materialized (
    select *
    from unnest($1::int[], $2::text[], $3::bigint[], $4::uuid[], $5::bigint[], $6::text[], $7::text[])
        as w (ord, factory_id, epoch, job_id, version, lock, key)
),
seat as materialized (
    select factory_id, seat_limit - used as free, epoch
    from factory_seat
    where factory_id = any($2::text[])
    order by factory_id
    for no key update
),
seat_all as materialized (select array_agg(factory_id) as ids from seat),
present_all as materialized (
    select array_agg(w.ord) as ords
    from want w
    join seat s on s.factory_id = w.factory_id and s.epoch = w.epoch
),
job_now as materialized (
    select w.ord, w.factory_id, w.lock, w.key, b.id, b.fence + 1 as fence
    from want w
    cross join lateral (
        select id, fence
        from job
        where id = w.job_id and state = 'ready' and version = w.version
        limit 1
        for no key update skip locked
    ) b
    where w.ord = any((select ords from present_all)::int[])
),
job_all as materialized (select array_agg(lock) as locks, array_agg(ord) as ords from job_now),
lock_now as materialized (
    select name
    from job_lock
    where (holder_job is null or lapsed)
        and name = any((select locks from job_all)::text[])
    for no key update skip locked
),
lock_all as materialized (select array_agg(name) as names from lock_now),
unlocked as materialized (
    select j.*, row_number() over (partition by j.lock order by j.ord) as lock_turn
    from job_now j
    where j.lock is null or j.lock in (select name from lock_now)
),
turn as materialized (
    select u.*, row_number() over (partition by u.factory_id order by u.ord) as seat_turn
    from unlocked u
    where u.lock is null or u.lock_turn = 1
),
fit as materialized (
    select t.ord, t.factory_id, t.lock, t.key, t.id, t.fence
    from turn t
    join seat s using (factory_id)
    where t.seat_turn <= s.free
),
key_now as (
    insert into claim_key (factory_id, key, leases, expires_at)
    select
        factory_id,
        key,
        jsonb_agg(jsonb_build_object('job_id', id, 'fence', fence) order by ord),
        statement_timestamp() + make_interval(secs => max(($8::int[])[ord + 1]) + 3600)
    from fit
    where key is not null
    group by factory_id, key
    on conflict do nothing
    returning factory_id, key
),
leased as (
    update job b
    set state = 'leased',
        version = b.version + 1,
        fence = f.fence,
        fence_open = true,
        holder = f.factory_id,
        seated = true,
        lease_s = ($8::int[])[f.ord + 1],
        claimed_at = statement_timestamp(),
        lease_expires_at = statement_timestamp() + make_interval(secs => ($8::int[])[f.ord + 1]),
        cancel_requested_at = null,
        wake_at = statement_timestamp()
            + make_interval(secs => least(($8::int[])[f.ord + 1], b.timeout_s)),
        attempts = b.attempts + 1,
        run_after = null,
        updated_at = statement_timestamp()
    from fit f
    where b.id = f.id and b.id = any($4::uuid[])
        and b.version = ($5::bigint[])[f.ord + 1]
        and (f.key is null or (f.factory_id, f.key) in (select factory_id, key from key_now))
    returning f.ord, f.lock, b.id, b.holder, b.fence, b.claimed_at, b.lease_expires_at
),
locked as (
    update job_lock l
    set holder_job = u.id, holder_fence = u.fence, lapsed = false
    from leased u
    where l.name = u.lock and l.name = any((select names from lock_all)::text[])
),
counted as (
    update factory_seat s
    set used = s.used + n.taken, last_served_at = statement_timestamp()
    from (select holder, count(*) as taken from leased group by holder) n
    where s.factory_id = n.holder and s.factory_id = any((select ids from seat_all)::text[])
),
decided as (
    insert into decision (id, at, factory_id, job_id, fence, total, record)
    select
        ($9::uuid[])[ord + 1], claimed_at, holder, id, fence, ($10::int[])[ord + 1],
        ($11::jsonb[])[ord + 1]
    from leased
)
select
    w.ord,
    case
        when u.ord is not null then 'leased'
        when w.ord = any((select ords from present_all)::int[]) is not true then 'factory moved'
        when w.ord = any((select ords from job_all)::int[]) is not true then 'job moved'
        when w.ord not in (select ord from turn) then 'lock taken'
        when w.ord not in (select ord from fit) then 'no seat'
        else 'key used'
    end as outcome,
    b.id, w.version + 1 as version, 'leased' as state, b.kind, b.repo, b.payload, b.labels,
    b.if_parent_fails, null::timestamptz as run_after, b.timeout_s, b.attempts + 1 as attempts,
    b.attempts_max, b.dedupe_key, b.hold_reason, b.hold_by, b.hold_until, u.holder, u.fence,
    true as fence_open, u.claimed_at, u.lease_expires_at, null::timestamptz as cancel_requested_at,
    b.result, b.error, b.finished_at,
    array(select d.parent_id from job_dependency d where d.job_id = b.id) as depends_on
from want w
left join leased u on u.ord = w.ord
left join lateral (select * from job where id = u.id limit 1) b on true
order by w.ord
