-- Reads the events by which factories closed these fences themselves.
select distinct on (e.job_id, e.fence) e.job_id, e.fence, e.factory_id, e.event, e.outcome, e.detail
from unnest($1::uuid[], $2::bigint[]) as w (job_id, fence)
join job_event e on e.job_id = w.job_id and e.fence = w.fence
where e.job_id = any($1::uuid[])
    and e.event in ('complete', 'fail', 'release')
order by e.job_id, e.fence, e.id
