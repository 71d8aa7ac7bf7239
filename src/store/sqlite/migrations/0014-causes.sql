-- Cause groups: what failed or waits for one reason. A recipient belongs to the cause of its last unsuccessful attempt.
CREATE TABLE cause (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  category TEXT NOT NULL,
  scope TEXT NOT NULL,
  site TEXT NOT NULL,
  sender_domain INTEGER NOT NULL,
  shape TEXT NOT NULL,
  reply TEXT NOT NULL,
  first_seen INTEGER NOT NULL,
  last_seen INTEGER NOT NULL,
  UNIQUE (category, site, sender_domain, shape)
) STRICT;
CREATE INDEX cause_seen ON cause (last_seen);
ALTER TABLE delivery ADD COLUMN cause_id INTEGER;
CREATE INDEX delivery_cause ON delivery (cause_id, state) WHERE cause_id IS NOT NULL;
