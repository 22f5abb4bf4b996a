-- Counts the ready jobs of classes between two points of their order, in all up to $6.
select count(*)
from (
    select 1
    from unnest($1::bigint[], $2::timestamptz[], $3::uuid[], $4::timestamptz[], $5::uuid[])
        as k (class_id, since_at, since_id, before_at, before_id)
    join job_class c on c.id = k.class_id
    left join job_lock l on l.name = c.lock
    cross join lateral (
        select 1
        from job
        where state = 'ready' and class_id = k.class_id
            and (created_at, id) >= (k.since_at, k.since_id)
            and (created_at, id) < (k.before_at, k.before_id)
        limit $6
    ) before
    where c.lock is null or l.holder_job is null or l.lapsed
    limit $6
) counted
