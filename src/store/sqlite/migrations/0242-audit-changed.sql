-- works with programs since 210
-- Which settings were changed: a list of texts, as JSON.
ALTER TABLE audit ADD COLUMN changed TEXT NOT NULL DEFAULT '[]';
