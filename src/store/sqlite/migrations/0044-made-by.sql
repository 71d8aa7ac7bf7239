-- Who made a token or a credential, and the limits that it has from there: what is made ends with its maker, comes from where
-- its maker may come from, and takes its sends from the rates of all who stand above it.
ALTER TABLE token ADD COLUMN created_by TEXT;
ALTER TABLE token ADD COLUMN rate_shares TEXT NOT NULL DEFAULT '[]';
ALTER TABLE smtp_credential ADD COLUMN expires_at INTEGER;
ALTER TABLE smtp_credential ADD COLUMN ip_allow_list TEXT NOT NULL DEFAULT '[]';
ALTER TABLE smtp_credential ADD COLUMN rate_limit REAL;
ALTER TABLE smtp_credential ADD COLUMN rate_shares TEXT NOT NULL DEFAULT '[]';
CREATE INDEX token_maker ON token (created_by) WHERE created_by IS NOT NULL;
CREATE INDEX smtp_credential_maker ON smtp_credential (created_by) WHERE created_by IS NOT NULL;
