-- What the operator was alerted of and has not ended, and mails about it that are still to be accepted for sending.
CREATE TABLE alert (
  kind text COLLATE "C" NOT NULL,
  subject text COLLATE "C" NOT NULL,
  message text COLLATE "C" NOT NULL,
  since int8 NOT NULL,
  PRIMARY KEY (kind, subject)
);
CREATE TABLE alert_mail (
  id text COLLATE "C" PRIMARY KEY,
  at int8 NOT NULL,
  subject text COLLATE "C" NOT NULL,
  text text COLLATE "C" NOT NULL
);
