-- Lets one transaction at a time draw dependencies between jobs that exist already.
select pg_advisory_xact_lock($1)
