-- The secret a webhook had before its last rotation signs too, up to an instant.
ALTER TABLE webhook ADD COLUMN previous_secret_sealed BLOB;
ALTER TABLE webhook ADD COLUMN previous_secret_until INTEGER;

-- When a signing key stopped signing; it stays published for a while, so that what it signed can still be verified.
ALTER TABLE domain_key ADD COLUMN retired_at INTEGER;
