-- Names another parent as the one because of which a job is cancelled, and stays so.
update job j
set cancelled_by_parent = w.parent_id, version = j.version + 1, updated_at = now()
from unnest($1::uuid[], $2::uuid[]) as w (id, parent_id)
where j.id = w.id and j.state = 'cancelled'
