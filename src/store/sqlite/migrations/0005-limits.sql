-- What slows or stops delivery for a time: learned from replies, or said by a person.
CREATE TABLE override (
  id TEXT NOT NULL UNIQUE,
  scope TEXT NOT NULL,
  key TEXT NOT NULL,
  param TEXT NOT NULL,
  rule TEXT NOT NULL,
  value ANY NOT NULL,
  until INTEGER NOT NULL,
  why TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  UNIQUE (scope, key, param, rule)
) STRICT;
CREATE INDEX override_end ON override (until);

-- What a path has come to, so that a restart does not begin with what a site has just refused.
CREATE TABLE path_state (
  key TEXT NOT NULL PRIMARY KEY,
  source TEXT NOT NULL,
  site TEXT NOT NULL,
  blocked_until INTEGER,
  reason TEXT NOT NULL,
  failures INTEGER NOT NULL,
  concurrency INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX path_state_age ON path_state (updated_at);

-- Mail that a person keeps back. What is NULL does not restrict.
CREATE TABLE hold (
  id TEXT NOT NULL UNIQUE,
  sender_domain TEXT,
  recipient_domain TEXT,
  site TEXT,
  lane INTEGER,
  reason TEXT NOT NULL,
  until INTEGER,
  created_at INTEGER NOT NULL,
  created_by TEXT NOT NULL
) STRICT;
