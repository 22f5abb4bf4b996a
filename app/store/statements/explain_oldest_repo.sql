-- Reads the $4 oldest ready jobs of each group of (class, repo): of those whose lock is free.
with head as (
    select
        k.class_id, k.repo, k.shape,
        row_number() over (partition by k.shape order by h.created_at, h.id) as place
    from unnest($1::bigint[], $2::text[], $3::int[]) as k (class_id, repo, shape)
    join job_class c on c.id = k.class_id
    left join job_lock l on l.name = c.lock
    cross join lateral (
        select id, created_at
        from job
        where state = 'ready' and class_id = k.class_id and repo = k.repo
        order by created_at, id
        limit 1
    ) h
    where c.lock is null or l.holder_job is null or l.lapsed
),
oldest as (
    select
        head.shape, head.class_id, head.repo, j.id, j.version, j.created_at,
        row_number() over (partition by head.shape order by j.created_at, j.id) as place
    from head
    cross join lateral (
        select id, version, created_at
        from job
        where state = 'ready' and class_id = head.class_id and repo = head.repo
        order by created_at, id
        limit $4
    ) j
    where head.place <= $4
)
select shape, class_id, id, version, repo, created_at
from oldest
where place <= $4
order by shape, place
