-- Locks a project against new workflows until the transaction ends.
select true from project where id = $1 for update
