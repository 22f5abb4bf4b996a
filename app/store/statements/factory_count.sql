-- Counts the registered factories, and those of them in quarantine.
select count(*) as registered, count(*) filter (where quarantined_until > now()) as quarantined
from factory
