-- Unsubscribe links outlive their messages: who was written to, and by which delivery. Ids of readers are never used again,
-- so that a link whose reader was erased leads to nobody.
CREATE TABLE opt_out_reader (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  domain_id INTEGER NOT NULL,
  key TEXT NOT NULL,
  address TEXT NOT NULL,
  last_at INTEGER NOT NULL,
  UNIQUE (key, domain_id)
) STRICT;
CREATE INDEX opt_out_reader_age ON opt_out_reader (last_at);
CREATE TABLE opt_out_link (
  delivery_id INTEGER PRIMARY KEY,
  reader_id INTEGER NOT NULL,
  at INTEGER NOT NULL
) STRICT;
