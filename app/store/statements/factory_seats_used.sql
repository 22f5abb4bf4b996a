-- Locks a factory's seats and tells how many are used.
select used from factory_seat where factory_id = $1 for update
