-- Stores new candidates of a repo.
insert into repo_candidate (id, repo_id, focus, score, status, failures, created_at)
select id, $1, focus, score, status, failures, created_at
from unnest(
    $2::uuid[], $3::text[], $4::float8[], $5::text[], $6::int[], $7::timestamptz[]
) as new (id, focus, score, status, failures, created_at)
