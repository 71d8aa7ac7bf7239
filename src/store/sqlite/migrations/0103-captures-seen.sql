-- Whether somebody has looked at a captured copy, and how many of an inbox nobody has.
ALTER TABLE capture ADD COLUMN seen_at INTEGER;
ALTER TABLE inbox ADD COLUMN unseen INTEGER NOT NULL DEFAULT 0;
UPDATE inbox SET unseen = count;
DROP TRIGGER inbox_gains;
CREATE TRIGGER inbox_gains AFTER INSERT ON capture BEGIN
  INSERT INTO inbox (inbox, domain_id, count, unseen) VALUES (NEW.inbox, NEW.domain_id, 1, NEW.seen_at IS NULL)
    ON CONFLICT DO UPDATE SET count = count + 1, unseen = unseen + excluded.unseen;
END;
DROP TRIGGER inbox_loses;
CREATE TRIGGER inbox_loses AFTER DELETE ON capture BEGIN
  UPDATE inbox SET count = count - 1, unseen = unseen - (OLD.seen_at IS NULL)
    WHERE inbox = OLD.inbox AND domain_id = OLD.domain_id;
  DELETE FROM inbox WHERE inbox = OLD.inbox AND domain_id = OLD.domain_id AND count <= 0;
END;
CREATE TRIGGER inbox_seen AFTER UPDATE OF seen_at ON capture BEGIN
  UPDATE inbox SET unseen = unseen + (NEW.seen_at IS NULL) - (OLD.seen_at IS NULL)
    WHERE inbox = NEW.inbox AND domain_id = NEW.domain_id;
END;
