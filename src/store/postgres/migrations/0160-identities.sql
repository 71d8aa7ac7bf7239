-- People who sign in by an identity provider: who they are there, and none of them needs a password.
ALTER TABLE person ALTER COLUMN password_hash DROP NOT NULL;
ALTER TABLE person ADD COLUMN identity text COLLATE "C";
ALTER TABLE person_session ADD COLUMN by_provider bool NOT NULL DEFAULT false;
