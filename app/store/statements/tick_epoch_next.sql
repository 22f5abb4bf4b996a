-- Begins a turn: waits for what an earlier one is committing, and makes all it tries later fail.
update tick_epoch set epoch = epoch + 1 where name = 'turn' returning epoch
