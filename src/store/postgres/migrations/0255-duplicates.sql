-- works with programs since 210
-- Deliveries that may have been repeated are few among all events. The text is DUPLICATE_MARK of shared/rows/events.ts.
CREATE INDEX event_duplicate ON event (at, seq) WHERE strpos(detail, '"possibleDuplicate":true') > 0;
