-- Tells who last cancelled a job, or asked for it; null if nobody did by hand.
select by
from job_event
where job_id = $1 and event = 'cancel' and by is not null
order by id desc
limit 1
