-- Reads in which classes each repo has ready jobs, up to $2 a repo; from one to the next by index.
select r.repo, c.class_id
from unnest($1::text[]) as r (repo)
cross join lateral (
    with recursive found (class_id, place) as (
        (
            select class_id, 1
            from job
            where state = 'ready' and repo = r.repo
            order by class_id
            limit 1
        )
        union all
        select following.class_id, found.place + 1
        from found
        cross join lateral (
            select class_id
            from job
            where state = 'ready' and repo = r.repo and class_id > found.class_id
            order by class_id
            limit 1
        ) following
        where found.place < $2
    )
    select class_id from found
) c
