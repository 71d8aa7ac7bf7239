-- Which messages have their content still, by domain and age: what retention walks instead of the contents themselves.
CREATE TABLE kept_content (
  domain_id INTEGER NOT NULL,
  message_seq INTEGER NOT NULL,
  size INTEGER NOT NULL,
  PRIMARY KEY (domain_id, message_seq)
) STRICT, WITHOUT ROWID;
INSERT INTO kept_content (domain_id, message_seq, size)
  SELECT m.domain_id, m.seq, m.size FROM content c CROSS JOIN message m ON m.seq = c.message_seq;

-- 0: the content goes when the last recipient is final.
ALTER TABLE message ADD COLUMN keep_content INTEGER NOT NULL DEFAULT 1;

CREATE INDEX capture_message ON capture (message_seq);
CREATE INDEX event_loose ON event (at) WHERE message_seq IS NULL;
