-- What is removed at once with rows that go later, in portions: the calls of a webhook, the versions of a template, the
-- uses of a sandbox rule. `owner` is the number that they carry; it is never given out again.
CREATE TABLE leftover (
  kind TEXT NOT NULL,
  owner INTEGER NOT NULL,
  PRIMARY KEY (kind, owner)
) STRICT, WITHOUT ROWID;
