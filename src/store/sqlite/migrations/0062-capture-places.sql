-- Captured mail by sender domain first: looking into an inbox, or for the mail to one recipient, never passes another
-- tenant's copies. As before, all that a wait for a subject looks at stands in the index.
DROP INDEX capture_inbox;
DROP INDEX capture_to;
CREATE INDEX capture_inbox ON capture (domain_id, inbox, seq, at, subject);
CREATE INDEX capture_to ON capture (domain_id, envelope_to, seq, at, subject);

-- Inboxes that hold something, with how much.
CREATE TABLE inbox (
  inbox TEXT NOT NULL,
  domain_id INTEGER NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY (inbox, domain_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX inbox_domain ON inbox (domain_id, inbox);
INSERT INTO inbox (inbox, domain_id, count) SELECT inbox, domain_id, count(*) FROM capture GROUP BY inbox, domain_id;
CREATE TRIGGER inbox_gains AFTER INSERT ON capture BEGIN
  INSERT INTO inbox (inbox, domain_id, count) VALUES (NEW.inbox, NEW.domain_id, 1)
    ON CONFLICT DO UPDATE SET count = count + 1;
END;
CREATE TRIGGER inbox_loses AFTER DELETE ON capture BEGIN
  UPDATE inbox SET count = count - 1 WHERE inbox = OLD.inbox AND domain_id = OLD.domain_id;
  DELETE FROM inbox WHERE inbox = OLD.inbox AND domain_id = OLD.domain_id AND count <= 0;
END;
