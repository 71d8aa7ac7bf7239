-- Templates, and every version of their texts. A row of template_version never changes.
CREATE TABLE template (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  domain TEXT NOT NULL,
  name TEXT NOT NULL,
  version INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  UNIQUE (domain, name)
) STRICT;

CREATE TABLE template_version (
  seq INTEGER PRIMARY KEY,
  template_seq INTEGER NOT NULL,
  version INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  subject TEXT,
  html TEXT,
  plain TEXT,
  UNIQUE (template_seq, version)
) STRICT;
