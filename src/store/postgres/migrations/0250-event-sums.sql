-- works with programs since 210
-- How many events there were: added up by hour and by day, as far as `events_summed` of meta says.
CREATE TABLE event_sum (
  domain_id int8 NOT NULL,
  breakdown int2 NOT NULL,
  span int8 NOT NULL,
  at int8 NOT NULL,
  kind int2 NOT NULL,
  sandbox bool NOT NULL,
  name text COLLATE "C" NOT NULL,
  n int8 NOT NULL,
  PRIMARY KEY (domain_id, breakdown, span, at, kind, sandbox, name)
);
