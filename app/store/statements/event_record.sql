-- Appends events of jobs, at the time of the database.
insert into job_event (job_id, event, factory_id, fence, outcome, claimed_at, by, detail)
select * from unnest(
    $1::uuid[], $2::text[], $3::text[], $4::bigint[], $5::text[], $6::timestamptz[], $7::text[],
    $8::jsonb[]
)
