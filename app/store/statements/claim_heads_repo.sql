-- Reads the oldest ready jobs of each class within one repo, where the class's lock is free.
select k.class_id, k.repo as in_repo, h.id, h.version, h.repo, h.created_at
from unnest($1::bigint[], $2::text[], $3::int[]) as k (class_id, repo, depth)
join job_class c on c.id = k.class_id
left join job_lock l on l.name = c.lock
cross join lateral (
    select id, version, repo, created_at
    from job
    where state = 'ready' and class_id = k.class_id and repo = k.repo
    order by created_at, id
    limit k.depth
) h
where c.lock is null or l.holder_job is null or l.lapsed
