-- Mail that was composed elsewhere: content with octets above 127 asks the next host for 8BITMIME.
ALTER TABLE message ADD COLUMN eight_bit INTEGER NOT NULL DEFAULT 0;

-- User names and passwords for SMTP submission. Only a slow hash of the password is kept.
CREATE TABLE smtp_credential (
  id TEXT NOT NULL UNIQUE,
  username TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  owner TEXT NOT NULL,
  domain TEXT NOT NULL,
  sandbox INTEGER NOT NULL,
  salt BLOB NOT NULL,
  hash BLOB NOT NULL,
  cost_log2 INTEGER NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX smtp_credential_domain ON smtp_credential (domain);
