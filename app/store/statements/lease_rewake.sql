-- Sets anew when the lease loop looks at jobs again, if they are still as they were read.
update job b
set wake_at = w.wake_at
from unnest($1::uuid[], $2::bigint[], $3::timestamptz[]) as w (id, version, wake_at)
where b.id = w.id and b.version = w.version
