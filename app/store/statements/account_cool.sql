-- Keeps an account out of claims until a time; of two times the later one holds.
insert into account (name, cooldown_until) values ($1, $2)
on conflict (name) do update
set cooldown_until = greatest(account.cooldown_until, excluded.cooldown_until)
