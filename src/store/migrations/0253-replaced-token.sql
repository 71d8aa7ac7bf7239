-- works with programs since 210
-- The token that a rotation made in its place: a token is replaced once.
ALTER TABLE token ADD COLUMN replaced_by {text};
