-- Calls that are made later, in portions, because one commit would have made too many: what is left of one event's.
-- `webhooks` is a list of numbers in JSON.
CREATE TABLE later_call (
  domain_id INTEGER NOT NULL,
  event_seq INTEGER NOT NULL,
  at INTEGER NOT NULL,
  webhooks TEXT NOT NULL,
  PRIMARY KEY (domain_id, event_seq)
) STRICT, WITHOUT ROWID;

-- Webhooks that were switched on at `at` and whose waiting calls are still gone through, in the order of due time and
-- number; those made before `since` are given up. The last one looked at is (due_at, call_id).
CREATE TABLE webhook_resume (
  webhook_id INTEGER PRIMARY KEY,
  since INTEGER NOT NULL,
  at INTEGER NOT NULL,
  due_at INTEGER NOT NULL,
  call_id INTEGER NOT NULL
) STRICT;
