-- Tells when the newest tick of each of these kinds was; one that never ticked is left out.
select wanted.kind, newest.at
from unnest($1::text[]) as wanted (kind)
cross join lateral (
    select at from tick where tick.kind = wanted.kind order by id desc limit 1
) newest
