-- works with programs since 210
-- How many events there were: added up by hour and by day, as far as `events_summed` of meta says.
CREATE TABLE event_sum (
  domain_id INTEGER NOT NULL,
  breakdown INTEGER NOT NULL,
  span INTEGER NOT NULL,
  at INTEGER NOT NULL,
  kind INTEGER NOT NULL,
  sandbox INTEGER NOT NULL,
  name TEXT NOT NULL,
  n INTEGER NOT NULL,
  PRIMARY KEY (domain_id, breakdown, span, at, kind, sandbox, name)
) STRICT, WITHOUT ROWID;
