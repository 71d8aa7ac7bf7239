-- When the person of a session last proved who they are; nothing is known of sessions from before.
ALTER TABLE person_session ADD COLUMN proven_at {instant} NOT NULL DEFAULT 0;
