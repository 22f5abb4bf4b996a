-- Lists reports of ticks, newest first, of one kind if it is named, older than one of them.
select id, kind, "window", at, report, reasons
from tick
where ($1::text is null or kind = $1) and ($2::uuid is null or id < $2)
order by id desc
limit $3
