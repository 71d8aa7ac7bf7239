-- works with programs since 210
-- Digests of what nodes should have alike in their configuration, by key; nothing is known of nodes from before.
ALTER TABLE node ADD COLUMN settings {text} NOT NULL DEFAULT '{}';
