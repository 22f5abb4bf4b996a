-- Deletes reports of ticks older than $1, at most $2; the newest of each kind stays.
delete from tick
where id in (
    select t.id
    from tick t
    where t.at < now() - $1::interval
        and exists (select from tick newer where newer.kind = t.kind and newer.id > t.id)
    order by t.id
    limit $2
)
