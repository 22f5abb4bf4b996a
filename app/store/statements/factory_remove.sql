-- Removes a factory and what hangs on it; its jobs, events and decisions stay.
delete from factory where id = $1
