-- What a path's state was made for: a pause that a receiver asked for outlives a restart, and another login or address ends it.
ALTER TABLE path_state ADD COLUMN asked INTEGER NOT NULL DEFAULT 0;
ALTER TABLE path_state ADD COLUMN fingerprint TEXT NOT NULL DEFAULT '';
