-- When a policy is to be renewed, and how often in a row that failed: the next one due comes first, not the oldest again and again.
ALTER TABLE mta_sts ADD COLUMN renew_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE mta_sts ADD COLUMN renew_failures INTEGER NOT NULL DEFAULT 0;
UPDATE mta_sts SET renew_at = fetched_at + 86400000;
DROP INDEX mta_sts_age;
CREATE INDEX mta_sts_renewal ON mta_sts (renew_at);
