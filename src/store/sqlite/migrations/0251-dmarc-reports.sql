-- works with programs since 210
-- What receivers counted of the mail in the name of a sender domain; `counts`: a list, as JSON.
CREATE TABLE dmarc_report (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  domain_id INTEGER NOT NULL,
  signed_by TEXT NOT NULL,
  reporter TEXT NOT NULL,
  report_id TEXT NOT NULL,
  begin_at INTEGER NOT NULL,
  end_at INTEGER NOT NULL,
  received_at INTEGER NOT NULL,
  counts TEXT NOT NULL,
  UNIQUE (domain_id, signed_by, reporter, report_id)
) STRICT;
CREATE INDEX dmarc_report_received ON dmarc_report (domain_id, received_at, id);
CREATE INDEX dmarc_report_age ON dmarc_report (received_at);
