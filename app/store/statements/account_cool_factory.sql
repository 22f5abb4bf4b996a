-- Keeps the account of a factory out of claims until a time; without one, the factory alone.
insert into account (name, cooldown_until)
select coalesce(account, e'\x1f' || id), $2::timestamptz from factory where id = $1
on conflict (name) do update
set cooldown_until = greatest(account.cooldown_until, excluded.cooldown_until)
