-- What came back about a delivery and has acted, so that the same report acts once. `attempts`: how often the delivery
-- had been tried by then (0 where that does not matter): what is sent again may bounce again.
CREATE TABLE return_fact (
  delivery_id INTEGER NOT NULL,
  kind INTEGER NOT NULL,
  class TEXT NOT NULL,
  attempts INTEGER NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY (delivery_id, kind, class, attempts)
) STRICT, WITHOUT ROWID;
