-- Keeps the answer of the call that took an idempotency key.
update idempotency_key set status = $3, body = $4::jsonb where scope = $1 and key = $2
