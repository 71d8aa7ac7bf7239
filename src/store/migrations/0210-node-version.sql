-- works with programs since 206
-- What a node runs, and up to which number it knows the schema; nothing is known of nodes from before.
ALTER TABLE node ADD COLUMN version {text} NOT NULL DEFAULT '';
ALTER TABLE node ADD COLUMN schema_number {count} NOT NULL DEFAULT 0;
