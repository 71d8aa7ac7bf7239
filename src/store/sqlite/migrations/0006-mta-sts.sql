-- MTA-STS policies as they were fetched: they hold for as long as they say, whatever becomes of the server they came
-- from. `mx`: host names and patterns, separated by spaces.
CREATE TABLE mta_sts (
  domain TEXT NOT NULL PRIMARY KEY,
  policy_id TEXT NOT NULL,
  mode TEXT NOT NULL,
  mx TEXT NOT NULL,
  max_age INTEGER NOT NULL,
  fetched_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX mta_sts_age ON mta_sts (fetched_at);

-- How sessions with other servers ended as far as TLS goes, by day (RFC 8460).
CREATE TABLE tls_count (
  day TEXT NOT NULL,
  domain TEXT NOT NULL,
  policy TEXT NOT NULL,
  mx_host TEXT NOT NULL,
  result TEXT NOT NULL,
  sessions INTEGER NOT NULL,
  PRIMARY KEY (day, domain, policy, mx_host, result)
) STRICT, WITHOUT ROWID;
