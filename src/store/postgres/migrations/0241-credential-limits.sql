-- works with programs since 210
-- Tokens by their first domain, which counts them, and SMTP credentials by their expiry: those that ended are removed.
CREATE INDEX token_domain ON token ((domains::json ->> 0));
CREATE INDEX smtp_credential_end ON smtp_credential (expires_at) WHERE expires_at IS NOT NULL;
