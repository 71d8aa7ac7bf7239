-- What paths have come to, beside their block: messages of the day (UTC) and of the day before it.
ALTER TABLE path_state ADD COLUMN day INTEGER NOT NULL DEFAULT 0;
ALTER TABLE path_state ADD COLUMN sent INTEGER NOT NULL DEFAULT 0;
ALTER TABLE path_state ADD COLUMN sent_before INTEGER NOT NULL DEFAULT 0;

-- When each path closed and opened again; `until` and `reason` of a closing, null of an opening.
CREATE TABLE path_change (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  source TEXT NOT NULL,
  site TEXT NOT NULL,
  at INTEGER NOT NULL,
  until INTEGER,
  reason TEXT
) STRICT;
CREATE INDEX path_change_site ON path_change (site, at);
CREATE INDEX path_change_age ON path_change (at);

-- What delivery has learned about the world outside and goes by for a time; `value` is JSON (store/topics/limits.ts).
CREATE TABLE egress_fact (
  kind TEXT NOT NULL,
  key TEXT NOT NULL,
  value TEXT NOT NULL,
  until INTEGER NOT NULL,
  PRIMARY KEY (kind, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX egress_fact_end ON egress_fact (until);
