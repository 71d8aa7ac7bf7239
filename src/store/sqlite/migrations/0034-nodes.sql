-- What is known of each start of a process; a start before this table knew when it ended is over by now.
ALTER TABLE node ADD COLUMN host TEXT NOT NULL DEFAULT '';
ALTER TABLE node ADD COLUMN pid INTEGER NOT NULL DEFAULT 0;
ALTER TABLE node ADD COLUMN roles TEXT NOT NULL DEFAULT '[]';
ALTER TABLE node ADD COLUMN sources TEXT NOT NULL DEFAULT '[]';
-- How often it said that it lives, and when last by its own clock.
ALTER TABLE node ADD COLUMN beat INTEGER NOT NULL DEFAULT 0;
ALTER TABLE node ADD COLUMN heartbeat_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE node ADD COLUMN ended_at INTEGER;
UPDATE node SET heartbeat_at = started_at, ended_at = started_at;

-- What only one node does at a time: send from a shared address to a site, look after the instance.
CREATE TABLE node_lease (
  name TEXT PRIMARY KEY,
  epoch INTEGER NOT NULL,
  taken_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX node_lease_epoch ON node_lease (epoch);
