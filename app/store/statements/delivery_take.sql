-- Takes a delivery of the forge in, unless it was before; forgets a few old ones.
with forgotten as (
    delete from webhook_delivery
    where id = any(array(
        select id from webhook_delivery
        where received_at < now() - interval '7 days'
        order by received_at
        limit 100
        for update skip locked
    ))
)
insert into webhook_delivery (id, event)
values ($1, $2)
on conflict (id) do nothing
returning id
