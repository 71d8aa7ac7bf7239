-- works with programs since 210
-- Which settings were changed: a list of texts, as JSON.
ALTER TABLE audit ADD COLUMN changed text COLLATE "C" NOT NULL DEFAULT '[]';
