-- A hold that ended is kept for a time: whoever looks at a message sees when it was held and when it was let go.
ALTER TABLE hold ADD COLUMN released_at INTEGER;
