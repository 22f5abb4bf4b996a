-- Inserts jobs, in the order of their dedupe keys; leaves out those whose key is taken, and those
-- whose class was pruned before it could be locked.
with wanted as materialized (
    select w.*, c.kin_key as kin
    from unnest(
        $1::uuid[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::jsonb[], $7::jsonb[],
        $8::text[], $9::timestamptz[], $10::int[], $11::int[], $12::text[], $13::int[], $14::uuid[]
    ) as w (
        id, class_id, state, kind, repo, payload, labels, if_parent_fails, run_after, timeout_s,
        attempts_max, dedupe_key, parents_left, cancelled_by_parent
    )
    join job_class c on c.id = w.class_id
    for key share of c
)
insert into job (
    id, class_id, kin, state, kind, repo, payload, labels, if_parent_fails, run_after, timeout_s,
    attempts_max, dedupe_key, parents_left, cancelled_by_parent, wake_at, finished_at, submitted_by
)
select
    id, class_id, kin, state, kind, repo, payload, labels, if_parent_fails, run_after, timeout_s,
    attempts_max, dedupe_key, parents_left, cancelled_by_parent,
    case when state = 'scheduled' then run_after end,
    case when state = 'cancelled' then now() end,
    $15
from wanted
order by dedupe_key, id
on conflict (dedupe_key) where dedupe_key is not null do nothing
returning id
