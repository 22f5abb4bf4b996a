-- Moves the workflows at a position and behind it one on, if another than $1 has it.
update workflow
set position = position + 1, version = version + 1, updated_at = now()
where position >= $2
    and id <> $1
    and exists (select from workflow taken where taken.position = $2 and taken.id <> $1)
