-- Makes a class, unless someone else just did.
insert into job_class (digest, required, prefers_engine, cost_class, priority, lock, excluded, kin)
values ($1, $2::text[], $3, $4, $5, $6, $7::text[], $8)
on conflict (digest) do nothing
