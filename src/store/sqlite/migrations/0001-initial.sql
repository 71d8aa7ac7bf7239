-- The first schema. Small integers stand for words (codes.ts, EVENT_KINDS); instants are milliseconds since the
-- Unix epoch; UUIDs are 16 bytes. Nothing here is ever edited: later changes are later files.

-- Facts about the database itself: schema_version, instance_id.
CREATE TABLE meta (
  name TEXT NOT NULL PRIMARY KEY,
  value ANY NOT NULL
) STRICT, WITHOUT ROWID;

-- One row per start of a node: its epoch fences what earlier starts still held.
CREATE TABLE node (
  epoch INTEGER PRIMARY KEY AUTOINCREMENT,
  node_id TEXT NOT NULL,
  started_at INTEGER NOT NULL
) STRICT;

-- Sender domains and token ids, written once and referred to by number to keep rows and indexes narrow.
CREATE TABLE name (
  id INTEGER PRIMARY KEY,
  text TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE message (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id BLOB NOT NULL UNIQUE,
  domain_id INTEGER NOT NULL,
  token_name_id INTEGER NOT NULL,
  lane INTEGER NOT NULL,
  sandbox INTEGER NOT NULL,
  needs_smtputf8 INTEGER NOT NULL,
  body_offset INTEGER NOT NULL,
  size INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  from_address TEXT NOT NULL,
  subject TEXT NOT NULL,
  lists TEXT NOT NULL,
  tags TEXT,
  metadata TEXT
) STRICT;
CREATE INDEX message_domain ON message (domain_id);

-- Apart from the message, so that lists of messages never read past contents.
CREATE TABLE content (
  message_seq INTEGER PRIMARY KEY,
  bytes BLOB NOT NULL
) STRICT;

-- A destination queue. Never updated: rows would be hot for the large receivers.
CREATE TABLE dest_queue (
  id INTEGER PRIMARY KEY,
  lane INTEGER NOT NULL,
  sender_domain INTEGER NOT NULL,
  recipient_domain TEXT NOT NULL,
  UNIQUE (lane, sender_domain, recipient_domain)
) STRICT;

-- One recipient of one message. Its id stands in return paths, so no id is ever given twice.
CREATE TABLE delivery (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  message_seq INTEGER NOT NULL,
  queue_id INTEGER NOT NULL,
  state INTEGER NOT NULL,
  epoch INTEGER NOT NULL,
  attempts INTEGER NOT NULL,
  due_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  kind INTEGER NOT NULL,
  may_be_duplicate INTEGER NOT NULL,
  sandbox INTEGER,
  route INTEGER,
  last_code INTEGER,
  first_deferred_at INTEGER,
  last_deferred_event_at INTEGER,
  address TEXT NOT NULL,
  wait_reason TEXT,
  last_category TEXT,
  last_reply TEXT
) STRICT;
CREATE INDEX delivery_due ON delivery (queue_id, due_at) WHERE state = 0;
CREATE INDEX delivery_expiry ON delivery (expires_at) WHERE state = 0;
CREATE INDEX delivery_lease ON delivery (epoch) WHERE state = 1;
CREATE INDEX delivery_message ON delivery (message_seq);

-- The event log and outbox. Append-only; seq is the order events are told in.
CREATE TABLE event (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  event_id BLOB NOT NULL,
  domain_id INTEGER NOT NULL,
  kind INTEGER NOT NULL,
  at INTEGER NOT NULL,
  message_seq INTEGER,
  delivery_id INTEGER,
  detail TEXT
) STRICT;
CREATE INDEX event_message ON event (message_seq) WHERE message_seq IS NOT NULL;
CREATE INDEX event_kind ON event (domain_id, kind, at);

CREATE TABLE idempotency (
  id INTEGER PRIMARY KEY,
  owner TEXT NOT NULL,
  operation TEXT NOT NULL,
  key TEXT NOT NULL,
  fingerprint BLOB NOT NULL,
  status INTEGER NOT NULL,
  body TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  UNIQUE (owner, operation, key)
) STRICT;
CREATE INDEX idempotency_age ON idempotency (created_at);

CREATE TABLE webhook (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  domain_id INTEGER NOT NULL,
  event TEXT NOT NULL,
  url TEXT NOT NULL,
  description TEXT NOT NULL,
  enabled INTEGER NOT NULL,
  disabled_reason TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  last_response_code INTEGER NOT NULL,
  last_response_body TEXT NOT NULL,
  last_response_at INTEGER,
  last_response_try INTEGER NOT NULL,
  last_error TEXT NOT NULL,
  last_latency_ms INTEGER,
  failing_since INTEGER,
  failed_tries INTEGER NOT NULL,
  blocked_tries INTEGER NOT NULL,
  secret_sealed BLOB NOT NULL
) STRICT;
CREATE INDEX webhook_domain ON webhook (domain_id);

-- At most one call per webhook and event: a replay makes the same call again.
CREATE TABLE webhook_call (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  webhook_id INTEGER NOT NULL,
  event_seq INTEGER NOT NULL,
  state INTEGER NOT NULL,
  epoch INTEGER NOT NULL,
  due_at INTEGER NOT NULL,
  tries INTEGER NOT NULL,
  response_code INTEGER NOT NULL,
  error TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  UNIQUE (webhook_id, event_seq)
) STRICT;
CREATE INDEX webhook_call_due ON webhook_call (webhook_id, due_at) WHERE state = 0;
CREATE INDEX webhook_call_lease ON webhook_call (epoch) WHERE state = 1;

CREATE TABLE domain (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL UNIQUE,
  status TEXT NOT NULL,
  verified_by TEXT,
  verify_token TEXT NOT NULL,
  subdomains INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  verified_at INTEGER,
  failing_since INTEGER,
  last_checked_at INTEGER,
  last_checks TEXT
) STRICT;

CREATE TABLE domain_key (
  id INTEGER PRIMARY KEY,
  domain_id INTEGER NOT NULL,
  selector TEXT NOT NULL,
  role TEXT NOT NULL,
  private_sealed BLOB NOT NULL,
  public_key TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  UNIQUE (domain_id, selector)
) STRICT;

CREATE TABLE token (
  id TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  owner TEXT NOT NULL,
  domains TEXT NOT NULL,
  scopes TEXT NOT NULL,
  sandbox INTEGER NOT NULL,
  ip_allow_list TEXT NOT NULL,
  rate_limit REAL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  last_used_at INTEGER,
  last_used_ip TEXT,
  revoked_at INTEGER
) STRICT;

CREATE TABLE signing_key (
  kid TEXT NOT NULL UNIQUE,
  private_sealed BLOB NOT NULL,
  public_jwk TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;

-- What the sandbox kept of a copy: the lines in front of the content; the content itself is the message's.
CREATE TABLE capture (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  domain_id INTEGER NOT NULL,
  message_seq INTEGER NOT NULL,
  delivery_id INTEGER NOT NULL,
  at INTEGER NOT NULL,
  inbox TEXT NOT NULL,
  envelope_from TEXT NOT NULL,
  envelope_to TEXT NOT NULL,
  prefix BLOB NOT NULL
) STRICT;
CREATE INDEX capture_domain ON capture (domain_id);

-- A write that proves the disk takes data again.
CREATE TABLE probe (
  id INTEGER PRIMARY KEY,
  filler BLOB NOT NULL
) STRICT;
