-- To whom a sender domain does not send. `key`: the address folded for matching; `address`: as it was given. One row
-- per reason, because reasons end at different times. `id` is the cursor of lists and is never given twice.
CREATE TABLE suppression (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  domain_id INTEGER NOT NULL,
  key TEXT NOT NULL,
  reason INTEGER NOT NULL,
  address TEXT NOT NULL,
  note TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  message_id BLOB,
  reply TEXT,
  rule TEXT,
  UNIQUE (domain_id, key, reason)
) STRICT;
CREATE INDEX suppression_domain ON suppression (domain_id);
CREATE INDEX suppression_expiry ON suppression (expires_at) WHERE expires_at IS NOT NULL;

-- Bounces that count towards a suppression but are not enough yet: on how many days, from the first to the last.
CREATE TABLE suppression_evidence (
  domain_id INTEGER NOT NULL,
  key TEXT NOT NULL,
  reason INTEGER NOT NULL,
  days INTEGER NOT NULL,
  first_at INTEGER NOT NULL,
  last_at INTEGER NOT NULL,
  PRIMARY KEY (domain_id, key, reason)
) STRICT, WITHOUT ROWID;
CREATE INDEX suppression_evidence_age ON suppression_evidence (last_at);
