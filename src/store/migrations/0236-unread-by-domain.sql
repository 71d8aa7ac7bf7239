-- works with programs since 210
-- The sender domain of a captured message that is still to be read, so that domains take turns; 0 where an older program stored it.
ALTER TABLE capture_unread ADD COLUMN domain_id {number} NOT NULL DEFAULT 0;
UPDATE capture_unread SET domain_id =
  coalesce((SELECT m.domain_id FROM message m WHERE m.seq = capture_unread.message_seq), 0);
CREATE INDEX capture_unread_domain ON capture_unread (domain_id, message_seq);
