-- The sandbox as a daily tool: inboxes that are looked into one by one, released captures, faults on demand.

-- One inbox, newest first, among a million captures; and who asks for one recipient.
CREATE INDEX capture_inbox ON capture (inbox, seq);
CREATE INDEX capture_to ON capture (envelope_to, seq);

-- When a capture was last sent for real, and as which message; NULL = never.
ALTER TABLE capture ADD COLUMN released_at INTEGER;
ALTER TABLE capture ADD COLUMN released_as TEXT;

-- What the sandbox plays in place of a delivery, for recipients that fit. NULL = any; `recipient` is an address or `@domain`.
CREATE TABLE sandbox_rule (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  domain_id INTEGER NOT NULL,
  inbox TEXT,
  recipient TEXT,
  subject TEXT,
  tag TEXT,
  result TEXT NOT NULL,
  defers INTEGER NOT NULL,
  delay_ms INTEGER NOT NULL,
  reply_code INTEGER,
  reply_enhanced TEXT,
  reply_text TEXT,
  probability REAL NOT NULL,
  times INTEGER,
  uses INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT;

-- Which recipients a rule was used for: their next attempt is played by the same one.
CREATE TABLE sandbox_rule_use (
  delivery_id INTEGER PRIMARY KEY,
  rule_seq INTEGER NOT NULL,
  at INTEGER NOT NULL
) STRICT;
CREATE INDEX sandbox_rule_use_rule ON sandbox_rule_use (rule_seq);
