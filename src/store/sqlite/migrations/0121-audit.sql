-- Who changed what. `line`: whose entries make room for each other, so that nobody's changes push out another's.
CREATE TABLE audit (
  id TEXT NOT NULL UNIQUE,
  at INTEGER NOT NULL,
  line TEXT NOT NULL,
  by_person INTEGER NOT NULL,
  who_id TEXT NOT NULL,
  who_name TEXT NOT NULL,
  operation TEXT NOT NULL,
  resource TEXT NOT NULL,
  ip TEXT NOT NULL
) STRICT;
CREATE INDEX audit_line ON audit (line, id);
CREATE INDEX audit_age ON audit (at);
CREATE TABLE audit_count (line TEXT NOT NULL PRIMARY KEY, n INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TRIGGER audit_counted AFTER INSERT ON audit BEGIN
  INSERT INTO audit_count (line, n) VALUES (NEW.line, 1) ON CONFLICT DO UPDATE SET n = n + 1;
END;
CREATE TRIGGER audit_uncounted AFTER DELETE ON audit BEGIN
  UPDATE audit_count SET n = n - 1 WHERE line = OLD.line;
  DELETE FROM audit_count WHERE line = OLD.line AND n <= 0;
END;
