-- Reads the $3 oldest ready jobs of each group of classes: of those whose lock, if any, is free.
-- Of classes that differ in their lock alone, as many as are asked for jobs matter at most.
with head as (
    select
        k.class_id, k.shape,
        row_number() over (partition by k.shape order by h.created_at, h.id) as place
    from unnest($1::bigint[], $2::int[]) as k (class_id, shape)
    join job_class c on c.id = k.class_id
    left join job_lock l on l.name = c.lock
    cross join lateral (
        select id, created_at
        from job
        where state = 'ready' and class_id = k.class_id
        order by created_at, id
        limit 1
    ) h
    where c.lock is null or l.holder_job is null or l.lapsed
),
oldest as (
    select
        head.shape, head.class_id, j.id, j.version, j.repo, j.created_at,
        row_number() over (partition by head.shape order by j.created_at, j.id) as place
    from head
    cross join lateral (
        select id, version, repo, created_at
        from job
        where state = 'ready' and class_id = head.class_id
        order by created_at, id
        limit $3
    ) j
    where head.place <= $3
)
select shape, class_id, id, version, repo, created_at
from oldest
where place <= $3
order by shape, place
