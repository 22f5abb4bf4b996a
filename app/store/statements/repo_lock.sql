-- Keeps everything of a repo as it is until the transaction ends.
select id from repo where id = $1 for update
