-- Counts the ready jobs of classes within repos between two points of their order, up to $7.
-- $1 and $8 are the classes and their repos, $2 the stretch of each; $3 to $6 where these begin and
-- end.
select count(*)
from (
    select 1
    from unnest($1::bigint[], $2::int[], $8::text[]) as k (class_id, stretch, repo)
    join unnest($3::timestamptz[], $4::uuid[], $5::timestamptz[], $6::uuid[]) with ordinality
        as s (since_at, since_id, before_at, before_id, number) on s.number = k.stretch
    join job_class c on c.id = k.class_id
    left join job_lock l on l.name = c.lock
    cross join lateral (
        select 1
        from job
        where state = 'ready' and class_id = k.class_id and repo = k.repo
            and (created_at, id) >= (s.since_at, s.since_id)
            and (created_at, id) < (s.before_at, s.before_id)
        limit $7
    ) before
    where c.lock is null or l.holder_job is null or l.lapsed
    limit $7
) counted
