-- Reads the oldest ready jobs of each kin, of those that are the $3 oldest of their class, and
-- whose lock is free.
select
    h.class_id, k.kin, null::text as in_repo, h.lock, h.id, h.version, h.repo, h.created_at
from unnest($1::bytea[], $2::int[]) as k (kin, depth)
cross join lateral (
    select c.id as class_id, c.lock, j.id, j.version, j.repo, j.created_at
    from job_class c
    cross join lateral (
        select id, version, repo, created_at
        from job
        where state = 'ready' and class_id = c.id
        order by created_at, id
        limit $3::int
    ) j
    where c.kin = k.kin
        and c.lock not in (
            select name from job_lock where holder_job is not null and not lapsed
        )
    order by j.created_at, j.id
    limit k.depth
) h
