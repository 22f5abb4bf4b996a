-- Finds the ids of classes by their digests.
select id, digest from job_class where digest = any($1::bytea[])
