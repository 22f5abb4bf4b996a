-- Frees locks that still name these (job, fence).
update job_lock l
set holder_job = null, holder_fence = null, lapsed = false
from unnest($1::text[], $2::uuid[], $3::bigint[]) as w (name, job_id, fence)
where l.name = w.name and l.holder_job = w.job_id and l.holder_fence = w.fence
