-- Reads the oldest ready jobs of each class within one repo.
select
    k.class_id, null::bytea as kin, k.repo as in_repo, null::text as lock,
    h.id, h.version, h.repo, h.created_at
from unnest($1::bigint[], $2::text[], $3::int[]) as k (class_id, repo, depth)
cross join lateral (
    select id, version, repo, created_at
    from job
    where state = 'ready' and class_id = k.class_id and repo = k.repo
    order by created_at, id
    limit k.depth
) h
