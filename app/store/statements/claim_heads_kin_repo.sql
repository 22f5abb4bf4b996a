-- Reads the oldest ready jobs of each kin within one repo, of those that are the $4 oldest of their
-- class there, and whose lock is free. $5 as $4 of claim_heads_kin, which walks in the same way.
select
    h.class_id, k.kin, k.repo as in_repo, h.lock, h.id, h.version, h.repo, h.created_at
from unnest($1::bytea[], $2::text[], $3::int[]) as k (kin, repo, depth)
cross join lateral (
    with walk as materialized (
        select
            j.*, c.lock,
            row_number() over (partition by j.class_id order by j.created_at, j.id) as nth
        from (
            select class_id, id, version, repo, created_at
            from job
            where state = 'ready' and repo = k.repo and kin = k.kin and kin <> ''::bytea
            order by created_at, id
            limit 4 * k.depth + $5::int
        ) j
        cross join lateral (select lock from job_class where id = j.class_id limit 1) c
    ),
    found as materialized (
        select *
        from walk w
        where w.nth <= $4::int
            and coalesce(
                (select l.holder_job is null or l.lapsed from job_lock l where l.name = w.lock),
                true
            )
        order by created_at, id
        limit k.depth
    ),
    whole as materialized (
        select
            (select count(*) from found) = k.depth
            or (select count(*) from walk) < 4 * k.depth + $5::int as is_so
    )
    (
        select class_id, lock, id, version, repo, created_at
        from found
        where (select is_so from whole)
        order by created_at, id
    )
    union all
    (
        select c.id, c.lock, j.id, j.version, j.repo, j.created_at
        from job_class c
        cross join lateral (
            select id, version, repo, created_at
            from job
            where state = 'ready' and class_id = c.id and repo = k.repo
            order by created_at, id
            limit $4::int
        ) j
        where not (select is_so from whole)
            and c.kin = k.kin
            and c.lock not in (
                select name from job_lock where holder_job is not null and not lapsed
            )
        order by j.created_at, j.id
        limit k.depth
    )
) h
