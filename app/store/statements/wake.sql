-- Notifies waiting desks, on commit, of the classes that changed.
select pg_notify($1, payload) from unnest($2::text[]) as woken (payload)
