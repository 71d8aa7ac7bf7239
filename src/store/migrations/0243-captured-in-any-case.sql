-- works with programs since 210
-- Captured mail is found by the address of its recipient in upper or lower case.
DROP INDEX capture_to;
CREATE INDEX capture_to ON capture (domain_id, lower(envelope_to), seq, at, subject);
