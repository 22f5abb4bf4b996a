-- Completes leases by (job, fence, holder), and says of each: done, closed, or again.
-- Order of row locks: factory_seat, job, job_lock, each by key; a step is forced to finish by
-- aggregating it. A fence identifies a lease, so that a row changed while this statement waited is
-- judged anew by it. 'again': its class was made while this statement waited and is not visible.
-- Rows are named by their keys, and "open under this fence" is one value, so that no plan, however
-- little there was when it was made, reads an index whole.
-- It tells who waits ($5 channel, $6 and $7 what stands before a lock's and a factory's name) that a
-- lock is free, or a seat that was waited for. In autocommit mode ($8) it leaves jobs that others
-- depend on ('parent').
with want as materialized (
    select distinct on (job_id, fence, factory_id)
        job_id, fence, factory_id, result::jsonb as result
    from unnest($1::uuid[], $2::bigint[], $3::text[], $4::text[]) as w (
        job_id, fence, factory_id, result
    )
),
seat as materialized (
    select factory_id, awaited
    from factory_seat
    where factory_id = any($3::text[])
    order by factory_id
    for no key update
),
seat_all as materialized (select count(*) as n from seat),
held as materialized (
    select b.id, b.fence, b.holder, b.seated, b.class_id, b.dependants, w.result
    from want w
    join job b on b.id = w.job_id
    where b.id = any($1::uuid[])
        and case when b.fence_open then b.fence end = w.fence
        and b.holder = w.factory_id
        and (select n from seat_all) >= 0
    order by b.id
    for no key update of b
),
held_all as materialized (select count(*) as n from held),
classed as materialized (
    select h.*, c.id is null as unseen, c.lock
    from held h
    left join lateral (select id, lock from job_class where id = h.class_id limit 1) c on true
    where (select n from held_all) >= 0
),
lock_now as materialized (
    select l.name, c.id
    from classed c
    join job_lock l on l.name = c.lock
    where l.name = any((select array_agg(lock) from classed)::text[])
        and l.holder_job = c.id
        and l.holder_fence = c.fence
    order by l.name
    for no key update of l
),
lock_all as materialized (
    select array_agg(id) as ids, array_agg(name) as names from lock_now
),
go as materialized (
    select c.*
    from classed c
    where not c.unseen
        and (c.dependants = 0 or not $8::boolean)
        and (c.lock is null or c.id = any((select ids from lock_all)::uuid[]))
),
done as (
    update job b
    set state = 'succeeded',
        version = b.version + 1,
        fence_open = false,
        seated = false,
        hold_reason = null,
        hold_by = null,
        hold_until = null,
        wake_at = null,
        result = g.result,
        error = null,
        finished_at = now(),
        updated_at = now()
    from go g
    where b.id = g.id and b.id = any($1::uuid[]) and b.fence = g.fence
    returning
        b.id, b.fence, b.holder, b.version, b.dependants, b.repo, b.claimed_at, g.seated, g.lock
),
freed as (
    update job_lock l
    set holder_job = null, holder_fence = null, lapsed = false
    from done d
    where l.name = d.lock and l.name = any((select names from lock_all)::text[])
),
counted as (
    update factory_seat s
    set used = s.used - n.seats,
        awaited = s.awaited and s.used - n.seats >= s.seat_limit
    from (select holder, count(*) as seats from done where seated group by holder) n
    where s.factory_id = n.holder and s.factory_id = any($3::text[])
    returning s.factory_id, s.awaited as still_full
),
warmed as (
    insert into factory_repo (factory_id, repo, succeeded_at)
    select d.holder, d.repo, now()
    from done d
    join seat s on s.factory_id = d.holder
    where d.repo is not null
    group by d.holder, d.repo
    order by d.holder, d.repo
    on conflict (factory_id, repo) do update
    set succeeded_at = greatest(factory_repo.succeeded_at, excluded.succeeded_at)
),
told as (
    insert into job_event (job_id, event, factory_id, fence, outcome, claimed_at, detail)
    select
        id, 'complete', holder, fence, 'succeeded', claimed_at,
        jsonb_build_object('state', 'succeeded', 'version', version)
    from done
),
woken as materialized (
    select pg_notify($5::text, w.payload)
    from (
        select $6::text || lock as payload from done where lock is not null
        union
        select $7::text || s.factory_id
        from counted n
        join seat s on s.factory_id = n.factory_id
        where s.awaited and not n.still_full
    ) w
),
woken_all as materialized (select count(*) as n from woken)
select
    w.job_id,
    w.fence,
    w.factory_id,
    case
        when d.id is not null then 'done'
        when c.unseen then 'again'
        when c.dependants > 0 and $8 then 'parent'
        else 'closed'
    end as outcome,
    d.version,
    d.dependants
from want w
cross join woken_all
left join classed c on c.id = w.job_id and c.fence = w.fence and c.holder = w.factory_id
left join done d on d.id = w.job_id and d.fence = w.fence and d.holder = w.factory_id
