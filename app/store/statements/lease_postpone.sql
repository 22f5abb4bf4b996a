-- Puts off a job that could not be looked at.
update job set wake_at = now() + make_interval(secs => $2) where id = $1
