-- Mail for later: when it was asked to go (null = at once), whether its sender named the expiry, and where in the
-- content the 31 octets of a Date of our own stand (null = the date is the sender's).
ALTER TABLE message ADD COLUMN send_at INTEGER;
ALTER TABLE message ADD COLUMN expiry_given INTEGER NOT NULL DEFAULT 0;
ALTER TABLE message ADD COLUMN date_offset INTEGER;

-- Recipients that a sender domain used up in a window of its quota; one row a period, the latest window's.
CREATE TABLE quota_use (
  domain_id INTEGER NOT NULL,
  period INTEGER NOT NULL,
  started_at INTEGER NOT NULL,
  used INTEGER NOT NULL,
  PRIMARY KEY (domain_id, period)
) STRICT, WITHOUT ROWID;

-- What `message.metadata` holds, pair by pair, for searching. Derived: it goes with the message and its metadata.
CREATE TABLE message_metadata (
  domain_id INTEGER NOT NULL,
  name TEXT NOT NULL,
  value TEXT NOT NULL,
  message_seq INTEGER NOT NULL,
  PRIMARY KEY (domain_id, name, value, message_seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX message_metadata_message ON message_metadata (message_seq);
CREATE TRIGGER message_metadata_deleted AFTER DELETE ON message WHEN OLD.metadata IS NOT NULL BEGIN
  DELETE FROM message_metadata WHERE message_seq = OLD.seq;
END;
CREATE TRIGGER message_metadata_changed AFTER UPDATE OF metadata ON message WHEN OLD.metadata IS NOT NULL BEGIN
  DELETE FROM message_metadata WHERE message_seq = OLD.seq;
END;
INSERT OR IGNORE INTO message_metadata (domain_id, name, value, message_seq)
  SELECT m.domain_id, p.key, p.value, m.seq FROM message m, json_each(m.metadata) p WHERE m.metadata IS NOT NULL;
