-- Stores how many parents of a job are unfinished, where nothing else of it moves.
update job j
set parents_left = w.parents_left
from unnest($1::uuid[], $2::int[]) as w (id, parents_left)
where j.id = w.id and j.parents_left <> w.parents_left
