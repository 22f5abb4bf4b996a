-- Commits picks: each becomes a lease, or says which of five facts had moved. Its time is that of
-- the statement: in a turn, the transaction began before the turn was waited for.
-- Order of row locks: factory_seat, job, job_lock. A step that locks rows is forced to finish by
-- aggregating it before the next one reads the result; merely joined, the locks would interleave.
with want as materialized (
    select *
    from unnest(
        $1::int[], $2::text[], $3::bigint[], $4::uuid[], $5::bigint[], $6::text[], $7::text[],
        $8::int[], $9::uuid[], $10::int[], $11::jsonb[]
    ) as w (
        ord, factory_id, epoch, job_id, version, lock, key, lease_s, decision_id, total, record
    )
),
seat as materialized (
    select factory_id, seat_limit - used as free, epoch
    from factory_seat
    where factory_id in (select factory_id from want)
    order by factory_id
    for no key update
),
present as materialized (
    select w.ord from want w join seat s on s.factory_id = w.factory_id and s.epoch = w.epoch
),
present_all as materialized (select array_agg(ord) as ords from present),
job_now as materialized (
    select w.*, b.fence + 1 as fence
    from want w
    join job b on b.id = w.job_id
    where w.ord = any((select ords from present_all)::int[])
        and b.version = w.version
        and b.state = 'ready'
    for no key update of b skip locked
),
job_all as materialized (select array_agg(lock) as locks from job_now),
lock_now as materialized (
    select name
    from job_lock
    where (holder_job is null or lapsed)
        and name = any((select locks from job_all)::text[])
    for no key update skip locked
),
unlocked as materialized (
    select j.*, row_number() over (partition by j.lock order by j.ord) as lock_turn
    from job_now j
    left join lock_now l on l.name = j.lock
    where j.lock is null or l.name is not null
),
turn as materialized (
    select u.*, row_number() over (partition by u.factory_id order by u.ord) as seat_turn
    from unlocked u
    where u.lock is null or u.lock_turn = 1
),
fit as materialized (
    select t.* from turn t join seat s using (factory_id) where t.seat_turn <= s.free
),
key_now as (
    insert into claim_key (factory_id, key, leases, expires_at)
    select
        factory_id,
        key,
        jsonb_agg(jsonb_build_object('job_id', job_id, 'fence', fence) order by ord),
        statement_timestamp() + make_interval(secs => max(lease_s) + 3600)
    from fit
    where key is not null
    group by factory_id, key
    on conflict do nothing
    returning factory_id, key
),
go as materialized (
    select f.*
    from fit f
    where f.key is null or (f.factory_id, f.key) in (select factory_id, key from key_now)
),
leased as (
    update job b
    set state = 'leased',
        version = b.version + 1,
        fence = g.fence,
        fence_open = true,
        holder = g.factory_id,
        seated = true,
        lease_s = g.lease_s,
        claimed_at = statement_timestamp(),
        lease_expires_at = statement_timestamp() + make_interval(secs => g.lease_s),
        cancel_requested_at = null,
        wake_at = statement_timestamp() + make_interval(secs => least(g.lease_s, b.timeout_s)),
        attempts = b.attempts + 1,
        run_after = null,
        updated_at = statement_timestamp()
    from go g
    where b.id = g.job_id and b.version = g.version and b.state = 'ready'
    returning
        g.ord, g.factory_id, g.lock as lock_taken, g.decision_id, g.total, g.record, b.*
),
locked as (
    update job_lock l
    set holder_job = u.id, holder_fence = u.fence, lapsed = false
    from leased u
    where l.name = u.lock_taken
),
counted as (
    update factory_seat s
    set used = s.used + n.taken, last_served_at = statement_timestamp()
    from (select factory_id, count(*) as taken from leased group by factory_id) n
    where s.factory_id = n.factory_id
),
decided as (
    insert into decision (id, at, factory_id, job_id, fence, total, record)
    select decision_id, claimed_at, factory_id, id, fence, total, record from leased
)
select
    w.ord,
    case
        when u.ord is not null then 'leased'
        when p.ord is null then 'factory moved'
        when j.ord is null then 'job moved'
        when t.ord is null then 'lock taken'
        when f.ord is null then 'no seat'
        else 'key used'
    end as outcome,
    u.id, u.version, u.state, u.kind, u.repo, u.payload, u.labels, u.if_parent_fails, u.run_after,
    u.timeout_s, u.attempts, u.attempts_max, u.dedupe_key, u.hold_reason, u.hold_by, u.hold_until,
    u.holder, u.fence, u.fence_open, u.claimed_at, u.lease_expires_at, u.cancel_requested_at,
    u.result, u.error, u.finished_at,
    array(select d.parent_id from job_dependency d where d.job_id = u.id) as depends_on
from want w
left join present p on p.ord = w.ord
left join job_now j on j.ord = w.ord
left join turn t on t.ord = w.ord
left join fit f on f.ord = w.ord
left join leased u on u.ord = w.ord
order by w.ord
