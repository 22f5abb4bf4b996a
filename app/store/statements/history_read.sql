-- Reads what happened to a job, its claims among it, oldest first and after a place in that order.
-- What happened in one transaction has one time: there, a lease's claim comes before its end, and
-- the submission before everything. That stands in the job's own row.
select at, event, factory_id, fence, outcome, claimed_at, by, detail, turn, source, ord
from (
    select
        e.at, e.event, e.factory_id, e.fence, e.outcome, e.claimed_at, e.by, e.detail,
        coalesce(e.fence, 0) as turn, 1 as source, e.id as ord
    from job_event e
    where e.job_id = $1
    union all
    select
        d.at, 'claimed', d.factory_id, d.fence, null, d.at, null,
        jsonb_build_object('decision_id', d.id, 'score', d.total),
        d.fence, 0, 0
    from decision d
    where d.job_id = $1
    union all
    select
        j.created_at, 'submit', null, null, null, null, j.submitted_by, '{}'::jsonb, 0, 1, 0
    from job j
    where j.id = $1 and j.submitted_by is not null
) happened
where $2::timestamptz is null or (at, turn, source, ord) > ($2, $3::bigint, $4::int, $5::bigint)
order by at, turn, source, ord
limit $6
