-- People who sign in by an identity provider: who they are there, and none of them needs a password.
CREATE TABLE person_next (
  id TEXT NOT NULL UNIQUE,
  email TEXT NOT NULL UNIQUE,
  password_hash TEXT,
  role TEXT NOT NULL,
  domains TEXT NOT NULL,
  preset TEXT,
  created_at INTEGER NOT NULL,
  last_sign_in_at INTEGER,
  disabled_at INTEGER,
  second_factor TEXT,
  identity TEXT
) STRICT;
INSERT INTO person_next (id, email, password_hash, role, domains, preset, created_at, last_sign_in_at, disabled_at, second_factor)
  SELECT id, email, password_hash, role, domains, preset, created_at, last_sign_in_at, disabled_at, second_factor FROM person;
DROP TABLE person;
ALTER TABLE person_next RENAME TO person;
ALTER TABLE person_session ADD COLUMN by_provider INTEGER NOT NULL DEFAULT 0;
