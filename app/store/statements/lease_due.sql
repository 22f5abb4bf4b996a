-- Finds jobs that the lease loop has to look at, the longest overdue first, some passed over.
select id
from job
where wake_at <= now() and id <> all($2::uuid[])
order by wake_at
limit $1
