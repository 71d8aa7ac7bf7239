-- People who sign in to the dashboard, and their sessions. A session is found by the hash of what its cookie holds.
CREATE TABLE person (
  id TEXT NOT NULL UNIQUE,
  email TEXT NOT NULL UNIQUE,
  password_hash TEXT NOT NULL,
  role TEXT NOT NULL,
  domains TEXT NOT NULL,
  preset TEXT,
  created_at INTEGER NOT NULL,
  last_sign_in_at INTEGER,
  disabled_at INTEGER
) STRICT;
CREATE TABLE person_session (
  id TEXT NOT NULL UNIQUE,
  secret_hash BLOB NOT NULL UNIQUE,
  person_id TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  last_used_at INTEGER NOT NULL,
  ends_at INTEGER NOT NULL,
  user_agent TEXT NOT NULL,
  ip TEXT NOT NULL
) STRICT;
CREATE INDEX person_session_person ON person_session (person_id, id);
CREATE INDEX person_session_use ON person_session (last_used_at);
CREATE INDEX person_session_end ON person_session (ends_at);
