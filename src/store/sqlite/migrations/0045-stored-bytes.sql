-- What each sender domain has on the disk: contents of its messages, whether they wait, were captured or are kept, and the
-- heads of captured copies. Kept by triggers, so that whatever removes something counts it down.
CREATE TABLE stored_bytes (
  domain_id INTEGER PRIMARY KEY,
  bytes INTEGER NOT NULL
) STRICT;
INSERT INTO stored_bytes (domain_id, bytes)
SELECT domain_id, sum(size) FROM (
  SELECT domain_id, size FROM kept_content
  UNION ALL
  SELECT domain_id, length(prefix) FROM capture
) GROUP BY domain_id;

CREATE TRIGGER content_stored AFTER INSERT ON kept_content BEGIN
  INSERT INTO stored_bytes (domain_id, bytes) VALUES (NEW.domain_id, NEW.size)
    ON CONFLICT (domain_id) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER content_removed AFTER DELETE ON kept_content BEGIN
  UPDATE stored_bytes SET bytes = bytes - OLD.size WHERE domain_id = OLD.domain_id;
END;
CREATE TRIGGER capture_stored AFTER INSERT ON capture BEGIN
  INSERT INTO stored_bytes (domain_id, bytes) VALUES (NEW.domain_id, length(NEW.prefix))
    ON CONFLICT (domain_id) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER capture_removed AFTER DELETE ON capture BEGIN
  UPDATE stored_bytes SET bytes = bytes - length(OLD.prefix) WHERE domain_id = OLD.domain_id;
END;
