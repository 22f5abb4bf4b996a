-- Lifts the cool-down of a factory's account, for all who share it; no row means there was none.
update account
set cooldown_until = null
from factory
where factory.id = $1
  and account.name = coalesce(factory.account, e'\x1f' || factory.id)
  and account.cooldown_until > now()
returning true as warmed
