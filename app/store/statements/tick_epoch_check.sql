-- Tells whether a turn is still the newest; if so, no other begins before this transaction ends.
select true from tick_epoch where name = 'turn' and epoch = $1 for share
