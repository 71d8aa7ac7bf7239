-- Its envelope sender is null: it travels as MAIL FROM:<> and nobody is told what became of it.
ALTER TABLE message ADD COLUMN null_sender INTEGER NOT NULL DEFAULT 0;

-- What the sender of a recipient wants to be told by mail (RFC 3461 §4.1): 1 success, 2 failure, 4 delay; null = nothing.
ALTER TABLE delivery ADD COLUMN notify INTEGER;

-- Whether those who log in with it get notices by mail.
ALTER TABLE smtp_credential ADD COLUMN notices INTEGER NOT NULL DEFAULT 1;

-- To whom the notices of a message go, and what the sender gave with it.
CREATE TABLE message_notice (
  message_seq INTEGER PRIMARY KEY,
  sender TEXT NOT NULL,
  ret INTEGER,
  envid TEXT,
  orcpts TEXT
) STRICT;

-- What the sender is still to be told of, one row a fact; gone with the commit of the notice.
CREATE TABLE notice_due (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  message_seq INTEGER NOT NULL,
  delivery_id INTEGER NOT NULL,
  kind INTEGER NOT NULL,
  event_seq INTEGER,
  at INTEGER NOT NULL,
  due_from INTEGER NOT NULL
) STRICT;
CREATE INDEX notice_due_message ON notice_due (message_seq);
CREATE INDEX notice_due_from ON notice_due (due_from);

-- Notices written to one sender in one hour since 1970.
CREATE TABLE notice_count (
  sender TEXT NOT NULL,
  hour INTEGER NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY (sender, hour)
) STRICT, WITHOUT ROWID;
CREATE INDEX notice_count_hour ON notice_count (hour);
