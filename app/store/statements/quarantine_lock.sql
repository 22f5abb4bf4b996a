-- Takes the lock of those who put factories in quarantine, for this transaction, if it is free.
select pg_try_advisory_xact_lock(hashtext('fleet.quarantine'))
