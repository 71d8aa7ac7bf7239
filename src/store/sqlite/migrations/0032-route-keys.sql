-- What beside domains and lane decides the way of a queue's rows (model/route-key.ts); '' = nothing. Queues that are
-- there keep their numbers.
CREATE TABLE dest_queue_keyed (
  id INTEGER PRIMARY KEY,
  lane INTEGER NOT NULL,
  sender_domain INTEGER NOT NULL,
  recipient_domain TEXT NOT NULL,
  route_key TEXT NOT NULL DEFAULT '',
  UNIQUE (lane, sender_domain, recipient_domain, route_key)
) STRICT;
INSERT INTO dest_queue_keyed (id, lane, sender_domain, recipient_domain)
  SELECT id, lane, sender_domain, recipient_domain FROM dest_queue;
DROP TABLE dest_queue;
ALTER TABLE dest_queue_keyed RENAME TO dest_queue;
