-- Reads the answer that is kept under an idempotency key.
select fingerprint, status, body from idempotency_key where scope = $1 and key = $2
