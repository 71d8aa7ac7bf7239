-- What the operator was alerted of and has not ended, and mails about it that are still to be accepted for sending.
CREATE TABLE alert (
  kind TEXT NOT NULL,
  subject TEXT NOT NULL,
  message TEXT NOT NULL,
  since INTEGER NOT NULL,
  PRIMARY KEY (kind, subject)
) STRICT, WITHOUT ROWID;
CREATE TABLE alert_mail (
  id TEXT NOT NULL PRIMARY KEY,
  at INTEGER NOT NULL,
  subject TEXT NOT NULL,
  text TEXT NOT NULL
) STRICT, WITHOUT ROWID;
