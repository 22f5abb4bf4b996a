-- Lists ids of factories in their order, after one of them.
select id from factory where id > $1 order by id limit $2
