CREATE TABLE alert (
  kind text COLLATE "C" NOT NULL,
  subject text COLLATE "C" NOT NULL,
  message text COLLATE "C" NOT NULL,
  since bigint NOT NULL
);
CREATE TABLE alert_mail (
  id text COLLATE "C" NOT NULL,
  at bigint NOT NULL,
  subject text COLLATE "C" NOT NULL,
  text text COLLATE "C" NOT NULL
);
CREATE TABLE audit (
  id text COLLATE "C" NOT NULL,
  at bigint NOT NULL,
  line text COLLATE "C" NOT NULL,
  by_person boolean NOT NULL,
  who_id text COLLATE "C" NOT NULL,
  who_name text COLLATE "C" NOT NULL,
  operation text COLLATE "C" NOT NULL,
  resource text COLLATE "C" NOT NULL,
  ip text COLLATE "C" NOT NULL,
  changed text COLLATE "C" DEFAULT '[]'::text NOT NULL
);
CREATE TABLE capture (
  seq bigint IDENTITY NOT NULL,
  id text COLLATE "C" NOT NULL,
  domain_id bigint NOT NULL,
  message_seq bigint NOT NULL,
  delivery_id bigint NOT NULL,
  at bigint NOT NULL,
  inbox text COLLATE "C" NOT NULL,
  envelope_from text COLLATE "C" NOT NULL,
  envelope_to text COLLATE "C" NOT NULL,
  prefix bytea NOT NULL,
  fill text COLLATE "C",
  released_at bigint,
  released_as text COLLATE "C",
  subject text COLLATE "C" DEFAULT ''::text NOT NULL,
  seen_at bigint
);
CREATE TABLE capture_text (
  message_seq bigint NOT NULL,
  has_files boolean NOT NULL,
  text text COLLATE "C" NOT NULL
);
CREATE TABLE capture_unread (
  message_seq bigint NOT NULL,
  domain_id bigint DEFAULT 0 NOT NULL
);
CREATE TABLE cause (
  id bigint IDENTITY NOT NULL,
  category text COLLATE "C" NOT NULL,
  scope text COLLATE "C" NOT NULL,
  site text COLLATE "C" NOT NULL,
  sender_domain bigint NOT NULL,
  shape text COLLATE "C" NOT NULL,
  reply text COLLATE "C" NOT NULL,
  first_seen bigint NOT NULL,
  last_seen bigint NOT NULL
);
CREATE TABLE content (
  message_seq bigint NOT NULL,
  domain_id bigint NOT NULL,
  size integer NOT NULL,
  coding smallint DEFAULT 0 NOT NULL,
  bytes bytea COMPRESSION lz4 NOT NULL,
  places text COLLATE "C"
);
CREATE TABLE delivery (
  id bigint DEFAULT nextval('delivery_id_seq'::regclass) NOT NULL,
  message_seq bigint NOT NULL,
  queue_id bigint NOT NULL,
  state smallint NOT NULL,
  epoch bigint NOT NULL,
  attempts integer NOT NULL,
  due_at bigint NOT NULL,
  expires_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  kind smallint NOT NULL,
  may_be_duplicate boolean NOT NULL,
  sandbox smallint,
  route smallint,
  last_code integer,
  first_deferred_at bigint,
  last_deferred_event_at bigint,
  address text COLLATE "C" NOT NULL,
  wait_reason text COLLATE "C",
  last_category text COLLATE "C",
  last_reply text COLLATE "C",
  cause_id bigint,
  notify smallint
);
CREATE TABLE dest_queue (
  id bigint IDENTITY NOT NULL,
  lane smallint NOT NULL,
  sender_domain bigint NOT NULL,
  recipient_domain text COLLATE "C" NOT NULL,
  route_key text COLLATE "C" DEFAULT ''::text NOT NULL
);
CREATE TABLE dmarc_report (
  id bigint IDENTITY NOT NULL,
  domain_id bigint NOT NULL,
  signed_by text COLLATE "C" NOT NULL,
  reporter text COLLATE "C" NOT NULL,
  report_id text COLLATE "C" NOT NULL,
  begin_at bigint NOT NULL,
  end_at bigint NOT NULL,
  received_at bigint NOT NULL,
  counts text COLLATE "C" NOT NULL
);
CREATE TABLE domain (
  id bigint IDENTITY NOT NULL,
  name text COLLATE "C" NOT NULL,
  status text COLLATE "C" NOT NULL,
  verified_by text COLLATE "C",
  verify_token text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  verified_at bigint,
  failing_since bigint,
  last_checked_at bigint,
  last_checks text COLLATE "C",
  settings text COLLATE "C" DEFAULT '{}'::text NOT NULL,
  changes text COLLATE "C"
);
CREATE TABLE domain_key (
  id bigint IDENTITY NOT NULL,
  domain_id bigint NOT NULL,
  selector text COLLATE "C" NOT NULL,
  role text COLLATE "C" NOT NULL,
  private_sealed bytea NOT NULL,
  public_key text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL,
  retired_at bigint
);
CREATE TABLE egress_fact (
  kind text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  value text COLLATE "C" NOT NULL,
  until bigint NOT NULL
);
CREATE TABLE era (
  number integer NOT NULL,
  begun_at bigint
);
CREATE TABLE event (
  seq bigint DEFAULT nextval('event_seq_seq'::regclass) NOT NULL,
  event_id uuid NOT NULL,
  domain_id bigint NOT NULL,
  kind smallint NOT NULL,
  at bigint NOT NULL,
  message_seq bigint,
  delivery_id bigint,
  detail text COLLATE "C"
);
CREATE TABLE event_sum (
  domain_id bigint NOT NULL,
  breakdown smallint NOT NULL,
  span bigint NOT NULL,
  at bigint NOT NULL,
  kind smallint NOT NULL,
  sandbox boolean NOT NULL,
  name text COLLATE "C" NOT NULL,
  n bigint NOT NULL
);
CREATE TABLE hold (
  id text COLLATE "C" NOT NULL,
  sender_domain text COLLATE "C",
  recipient_domain text COLLATE "C",
  site text COLLATE "C",
  lane smallint,
  reason text COLLATE "C" NOT NULL,
  until bigint,
  created_at bigint NOT NULL,
  created_by text COLLATE "C" NOT NULL,
  released_at bigint
);
CREATE TABLE idempotency (
  id bigint IDENTITY NOT NULL,
  owner text COLLATE "C" NOT NULL,
  operation text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  fingerprint bytea NOT NULL,
  status bigint NOT NULL,
  body text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL
);
CREATE TABLE later_call (
  domain_id bigint NOT NULL,
  event_seq bigint NOT NULL,
  at bigint NOT NULL,
  webhooks text COLLATE "C" NOT NULL
);
CREATE TABLE leftover (
  kind text COLLATE "C" NOT NULL,
  owner bigint NOT NULL
);
CREATE TABLE message (
  seq bigint DEFAULT nextval('message_seq_seq'::regclass) NOT NULL,
  id uuid NOT NULL,
  domain_id bigint NOT NULL,
  token_name_id bigint NOT NULL,
  lane smallint NOT NULL,
  sandbox boolean NOT NULL,
  needs_smtputf8 boolean NOT NULL,
  body_offset integer NOT NULL,
  size integer NOT NULL,
  created_at bigint NOT NULL,
  expires_at bigint NOT NULL,
  from_address text COLLATE "C" NOT NULL,
  subject text COLLATE "C" NOT NULL,
  lists text COLLATE "C" NOT NULL,
  tags text[] COLLATE "C",
  metadata text COLLATE "C",
  eight_bit boolean DEFAULT false NOT NULL,
  personal smallint DEFAULT 0 NOT NULL,
  send_at bigint,
  expiry_given boolean DEFAULT false NOT NULL,
  date_offset integer,
  keep_content boolean DEFAULT true NOT NULL,
  null_sender boolean DEFAULT false NOT NULL
);
CREATE TABLE message_metadata (
  domain_id bigint NOT NULL,
  name text COLLATE "C" NOT NULL,
  value text COLLATE "C" NOT NULL,
  message_seq bigint NOT NULL
);
CREATE TABLE message_notice (
  message_seq bigint NOT NULL,
  sender text COLLATE "C" NOT NULL,
  ret boolean,
  envid text COLLATE "C",
  orcpts text COLLATE "C"
);
CREATE TABLE meta (
  name text COLLATE "C" NOT NULL,
  value text COLLATE "C" NOT NULL
);
CREATE TABLE migration (
  version integer NOT NULL,
  at timestamp with time zone DEFAULT now() NOT NULL
);
CREATE TABLE mta_sts (
  domain text COLLATE "C" NOT NULL,
  policy_id text COLLATE "C" NOT NULL,
  mode text COLLATE "C" NOT NULL,
  mx text COLLATE "C" NOT NULL,
  max_age bigint NOT NULL,
  fetched_at bigint NOT NULL,
  expires_at bigint NOT NULL,
  renew_at bigint DEFAULT 0 NOT NULL,
  renew_failures bigint DEFAULT 0 NOT NULL
);
CREATE TABLE name (
  id bigint IDENTITY NOT NULL,
  text text COLLATE "C" NOT NULL
);
CREATE TABLE node (
  epoch bigint IDENTITY NOT NULL,
  node_id text COLLATE "C" NOT NULL,
  started_at bigint NOT NULL,
  host text COLLATE "C" DEFAULT ''::text NOT NULL,
  pid bigint DEFAULT 0 NOT NULL,
  roles text COLLATE "C" DEFAULT '[]'::text NOT NULL,
  sources text COLLATE "C" DEFAULT '[]'::text NOT NULL,
  beat bigint DEFAULT 0 NOT NULL,
  heartbeat_at bigint DEFAULT 0 NOT NULL,
  ended_at bigint,
  version text COLLATE "C" DEFAULT ''::text NOT NULL,
  schema_number integer DEFAULT 0 NOT NULL,
  settings text COLLATE "C" DEFAULT '{}'::text NOT NULL,
  lost boolean DEFAULT false NOT NULL
);
CREATE TABLE node_lease (
  name text COLLATE "C" NOT NULL,
  epoch bigint NOT NULL,
  taken_at bigint NOT NULL,
  asked_by bigint
);
CREATE TABLE notice_count (
  sender text COLLATE "C" NOT NULL,
  hour bigint NOT NULL,
  count bigint NOT NULL
);
CREATE TABLE notice_due (
  id bigint IDENTITY NOT NULL,
  message_seq bigint NOT NULL,
  delivery_id bigint NOT NULL,
  kind smallint NOT NULL,
  event_seq bigint,
  at bigint NOT NULL,
  due_from bigint NOT NULL
);
CREATE TABLE opt_out_link (
  delivery_id bigint NOT NULL,
  reader_id bigint NOT NULL,
  at bigint NOT NULL
);
CREATE TABLE opt_out_reader (
  id bigint IDENTITY NOT NULL,
  domain_id bigint NOT NULL,
  key text COLLATE "C" NOT NULL,
  address text COLLATE "C" NOT NULL,
  last_at bigint NOT NULL
);
CREATE TABLE override (
  id text COLLATE "C" NOT NULL,
  scope text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  param text COLLATE "C" NOT NULL,
  rule text COLLATE "C" NOT NULL,
  value text COLLATE "C" NOT NULL,
  until bigint NOT NULL,
  why text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL
);
CREATE TABLE path_change (
  id bigint IDENTITY NOT NULL,
  source text COLLATE "C" NOT NULL,
  site text COLLATE "C" NOT NULL,
  at bigint NOT NULL,
  until bigint,
  reason text COLLATE "C"
);
CREATE TABLE path_state (
  key text COLLATE "C" NOT NULL,
  source text COLLATE "C" NOT NULL,
  site text COLLATE "C" NOT NULL,
  blocked_until bigint,
  reason text COLLATE "C" NOT NULL,
  failures bigint NOT NULL,
  concurrency bigint NOT NULL,
  updated_at bigint NOT NULL,
  day bigint DEFAULT 0 NOT NULL,
  sent bigint DEFAULT 0 NOT NULL,
  sent_before bigint DEFAULT 0 NOT NULL,
  asked bigint DEFAULT 0 NOT NULL,
  fingerprint text COLLATE "C" DEFAULT ''::text NOT NULL
);
CREATE TABLE person (
  id text COLLATE "C" NOT NULL,
  email text COLLATE "C" NOT NULL,
  password_hash text COLLATE "C",
  role text COLLATE "C" NOT NULL,
  domains text COLLATE "C" NOT NULL,
  preset text COLLATE "C",
  created_at bigint NOT NULL,
  last_sign_in_at bigint,
  disabled_at bigint,
  second_factor text COLLATE "C",
  identity text COLLATE "C"
);
CREATE TABLE person_session (
  id text COLLATE "C" NOT NULL,
  secret_hash bytea NOT NULL,
  person_id text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL,
  last_used_at bigint NOT NULL,
  ends_at bigint NOT NULL,
  user_agent text COLLATE "C" NOT NULL,
  ip text COLLATE "C" NOT NULL,
  by_provider boolean DEFAULT false NOT NULL,
  proven_at bigint DEFAULT 0 NOT NULL
);
CREATE TABLE quota_use (
  domain_id bigint NOT NULL,
  period smallint NOT NULL,
  started_at bigint NOT NULL,
  used bigint NOT NULL
);
CREATE TABLE return_fact (
  delivery_id bigint NOT NULL,
  kind smallint NOT NULL,
  class text COLLATE "C" NOT NULL,
  attempts integer NOT NULL,
  at bigint NOT NULL
);
CREATE TABLE sandbox_rule (
  seq bigint IDENTITY NOT NULL,
  id text COLLATE "C" NOT NULL,
  domain_id bigint NOT NULL,
  inbox text COLLATE "C",
  recipient text COLLATE "C",
  subject text COLLATE "C",
  tag text COLLATE "C",
  result text COLLATE "C" NOT NULL,
  defers bigint NOT NULL,
  delay_ms bigint NOT NULL,
  reply_code bigint,
  reply_enhanced text COLLATE "C",
  reply_text text COLLATE "C",
  probability double precision NOT NULL,
  times bigint,
  uses bigint DEFAULT 0 NOT NULL,
  created_at bigint NOT NULL,
  expires_at bigint NOT NULL
);
CREATE TABLE sandbox_rule_use (
  delivery_id bigint NOT NULL,
  rule_seq bigint NOT NULL,
  at bigint NOT NULL
);
CREATE TABLE signing_key (
  kid text COLLATE "C" NOT NULL,
  private_sealed bytea NOT NULL,
  public_jwk text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL
);
CREATE TABLE smtp_credential (
  id text COLLATE "C" NOT NULL,
  username text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  owner text COLLATE "C" NOT NULL,
  domain text COLLATE "C" NOT NULL,
  sandbox boolean NOT NULL,
  salt bytea NOT NULL,
  hash bytea NOT NULL,
  cost_log2 bigint NOT NULL,
  created_at bigint NOT NULL,
  notices boolean DEFAULT true NOT NULL,
  created_by text COLLATE "C",
  expires_at bigint,
  ip_allow_list text COLLATE "C" DEFAULT '[]'::text NOT NULL,
  rate_limit double precision,
  rate_shares text COLLATE "C" DEFAULT '[]'::text NOT NULL
);
CREATE TABLE suppression (
  id bigint IDENTITY NOT NULL,
  domain_id bigint NOT NULL,
  key text COLLATE "C" NOT NULL,
  reason smallint NOT NULL,
  address text COLLATE "C" NOT NULL,
  note text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL,
  expires_at bigint,
  message_id uuid,
  reply text COLLATE "C",
  rule text COLLATE "C"
);
CREATE TABLE suppression_evidence (
  domain_id bigint NOT NULL,
  key text COLLATE "C" NOT NULL,
  reason smallint NOT NULL,
  days bigint NOT NULL,
  first_at bigint NOT NULL,
  last_at bigint NOT NULL
);
CREATE TABLE template (
  seq bigint IDENTITY NOT NULL,
  id text COLLATE "C" NOT NULL,
  domain text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  version bigint NOT NULL,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL
);
CREATE TABLE template_version (
  seq bigint IDENTITY NOT NULL,
  template_seq bigint NOT NULL,
  version bigint NOT NULL,
  created_at bigint NOT NULL,
  subject text COLLATE "C",
  html text COLLATE "C",
  plain text COLLATE "C"
);
CREATE TABLE token (
  id text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  owner text COLLATE "C" NOT NULL,
  domains text COLLATE "C" NOT NULL,
  scopes text COLLATE "C" NOT NULL,
  sandbox boolean NOT NULL,
  ip_allow_list text COLLATE "C" NOT NULL,
  rate_limit double precision,
  created_at bigint NOT NULL,
  expires_at bigint,
  last_used_at bigint,
  last_used_ip text COLLATE "C",
  revoked_at bigint,
  created_by text COLLATE "C",
  rate_shares text COLLATE "C" DEFAULT '[]'::text NOT NULL,
  replaced_by text COLLATE "C"
);
CREATE TABLE warmup (
  source text COLLATE "C" NOT NULL,
  provider text COLLATE "C" NOT NULL,
  state text COLLATE "C" NOT NULL
);
CREATE TABLE webhook (
  id bigint IDENTITY NOT NULL,
  domain_id bigint NOT NULL,
  event text COLLATE "C" NOT NULL,
  url text COLLATE "C" NOT NULL,
  description text COLLATE "C" NOT NULL,
  enabled boolean NOT NULL,
  disabled_reason text COLLATE "C",
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  last_response_code integer NOT NULL,
  last_response_body text COLLATE "C" NOT NULL,
  last_response_at bigint,
  last_response_try integer NOT NULL,
  last_error text COLLATE "C" NOT NULL,
  last_latency_ms integer,
  failing_since bigint,
  failed_tries integer NOT NULL,
  blocked_tries integer NOT NULL,
  secret_sealed bytea NOT NULL,
  previous_secret_sealed bytea,
  previous_secret_until bigint,
  created_by text COLLATE "C"
);
CREATE TABLE webhook_call (
  id bigint DEFAULT nextval('webhook_call_id_seq'::regclass) NOT NULL,
  webhook_id bigint NOT NULL,
  event_seq bigint NOT NULL,
  state smallint NOT NULL,
  epoch bigint NOT NULL,
  due_at bigint NOT NULL,
  tries integer NOT NULL,
  response_code integer NOT NULL,
  error text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  response_body text COLLATE "C" DEFAULT ''::text NOT NULL,
  latencies_ms text COLLATE "C" DEFAULT '[]'::text NOT NULL
);
CREATE TABLE webhook_resume (
  webhook_id bigint NOT NULL,
  since bigint NOT NULL,
  at bigint NOT NULL,
  due_at bigint NOT NULL,
  call_id bigint NOT NULL
);
CREATE UNIQUE INDEX alert_mail_pkey ON alert_mail USING btree (id);
CREATE UNIQUE INDEX alert_pkey ON alert USING btree (kind, subject);
CREATE INDEX audit_age ON audit USING btree (at);
CREATE INDEX audit_line ON audit USING btree (line, id);
CREATE UNIQUE INDEX audit_pkey ON audit USING btree (id);
CREATE INDEX capture_domain ON capture USING btree (domain_id, seq);
CREATE UNIQUE INDEX capture_id_key ON capture USING btree (id);
CREATE INDEX capture_inbox ON capture USING btree (domain_id, inbox, seq, at, subject);
CREATE INDEX capture_message ON capture USING btree (message_seq, seq);
CREATE UNIQUE INDEX capture_pkey ON capture USING btree (seq);
CREATE UNIQUE INDEX capture_text_pkey ON capture_text USING btree (message_seq);
CREATE INDEX capture_to ON capture USING btree (domain_id, lower(envelope_to), seq, at, subject);
CREATE INDEX capture_unread_domain ON capture_unread USING btree (domain_id, message_seq);
CREATE UNIQUE INDEX capture_unread_pkey ON capture_unread USING btree (message_seq);
CREATE UNIQUE INDEX cause_category_site_sender_domain_shape_key ON cause USING btree (category, site, sender_domain, shape);
CREATE UNIQUE INDEX cause_pkey ON cause USING btree (id);
CREATE INDEX cause_seen ON cause USING btree (last_seen, id);
CREATE INDEX content_domain ON ONLY content USING btree (domain_id, message_seq) INCLUDE (size);
CREATE UNIQUE INDEX content_pkey ON ONLY content USING btree (message_seq);
CREATE INDEX delivery_cause ON ONLY delivery USING btree (cause_id, state, id) WHERE (cause_id IS NOT NULL);
CREATE INDEX delivery_due ON ONLY delivery USING btree (queue_id, due_at, id) WHERE (state = 0);
CREATE INDEX delivery_expiry ON ONLY delivery USING btree (expires_at, id) WHERE (state = 0);
CREATE INDEX delivery_lease ON ONLY delivery USING btree (epoch, id) WHERE (state = 1);
CREATE INDEX delivery_message ON ONLY delivery USING btree (message_seq, id);
CREATE UNIQUE INDEX delivery_pkey ON ONLY delivery USING btree (id);
CREATE UNIQUE INDEX dest_queue_lane_sender_domain_recipient_domain_route_key_key ON dest_queue USING btree (lane, sender_domain, recipient_domain, route_key);
CREATE UNIQUE INDEX dest_queue_pkey ON dest_queue USING btree (id);
CREATE INDEX dest_queue_sender ON dest_queue USING btree (sender_domain);
CREATE INDEX dmarc_report_age ON dmarc_report USING btree (received_at);
CREATE UNIQUE INDEX dmarc_report_domain_id_signed_by_reporter_report_id_key ON dmarc_report USING btree (domain_id, signed_by, reporter, report_id);
CREATE UNIQUE INDEX dmarc_report_pkey ON dmarc_report USING btree (id);
CREATE INDEX dmarc_report_received ON dmarc_report USING btree (domain_id, received_at, id);
CREATE INDEX domain_failing ON domain USING btree (name) WHERE (status = ANY (ARRAY['Failing'::text, 'Suspended'::text]));
CREATE UNIQUE INDEX domain_key_domain_id_selector_key ON domain_key USING btree (domain_id, selector);
CREATE UNIQUE INDEX domain_key_pkey ON domain_key USING btree (id);
CREATE UNIQUE INDEX domain_name_key ON domain USING btree (name);
CREATE UNIQUE INDEX domain_pkey ON domain USING btree (id);
CREATE INDEX domain_return_host ON domain USING btree ((((settings)::json ->> 'returnPathHost'::text)));
CREATE INDEX egress_fact_end ON egress_fact USING btree (until);
CREATE UNIQUE INDEX egress_fact_pkey ON egress_fact USING btree (kind, key);
CREATE UNIQUE INDEX era_pkey ON era USING btree (number);
CREATE INDEX event_duplicate ON ONLY event USING btree (at, seq) WHERE (strpos(detail, '"possibleDuplicate":true'::text) > 0);
CREATE INDEX event_kind ON ONLY event USING btree (domain_id, kind, at, seq);
CREATE INDEX event_loose ON ONLY event USING btree (at, seq) WHERE (message_seq IS NULL);
CREATE INDEX event_message ON ONLY event USING btree (message_seq, seq) WHERE (message_seq IS NOT NULL);
CREATE UNIQUE INDEX event_pkey ON ONLY event USING btree (seq);
CREATE UNIQUE INDEX event_sum_pkey ON event_sum USING btree (domain_id, breakdown, span, at, kind, sandbox, name);
CREATE UNIQUE INDEX hold_pkey ON hold USING btree (id);
CREATE INDEX idempotency_age ON idempotency USING btree (created_at);
CREATE UNIQUE INDEX idempotency_owner_operation_key_key ON idempotency USING btree (owner, operation, key);
CREATE UNIQUE INDEX idempotency_pkey ON idempotency USING btree (id);
CREATE UNIQUE INDEX later_call_pkey ON later_call USING btree (domain_id, event_seq);
CREATE UNIQUE INDEX leftover_pkey ON leftover USING btree (kind, owner);
CREATE INDEX message_domain ON ONLY message USING btree (domain_id, seq);
CREATE INDEX message_metadata_message ON ONLY message_metadata USING btree (message_seq);
CREATE UNIQUE INDEX message_metadata_pkey ON ONLY message_metadata USING btree (domain_id, name, value, message_seq);
CREATE UNIQUE INDEX message_notice_pkey ON ONLY message_notice USING btree (message_seq);
CREATE UNIQUE INDEX message_pkey ON ONLY message USING btree (seq);
CREATE UNIQUE INDEX meta_pkey ON meta USING btree (name);
CREATE UNIQUE INDEX migration_pkey ON migration USING btree (version);
CREATE UNIQUE INDEX mta_sts_pkey ON mta_sts USING btree (domain);
CREATE INDEX mta_sts_renewal ON mta_sts USING btree (renew_at);
CREATE UNIQUE INDEX name_pkey ON name USING btree (id);
CREATE UNIQUE INDEX name_text_key ON name USING btree (text);
CREATE INDEX node_lease_epoch ON node_lease USING btree (epoch);
CREATE UNIQUE INDEX node_lease_pkey ON node_lease USING btree (name);
CREATE UNIQUE INDEX node_pkey ON node USING btree (epoch);
CREATE INDEX notice_count_hour ON notice_count USING btree (hour);
CREATE UNIQUE INDEX notice_count_pkey ON notice_count USING btree (sender, hour);
CREATE INDEX notice_due_from ON notice_due USING btree (due_from);
CREATE INDEX notice_due_message ON notice_due USING btree (message_seq, id);
CREATE UNIQUE INDEX notice_due_pkey ON notice_due USING btree (id);
CREATE UNIQUE INDEX opt_out_link_pkey ON opt_out_link USING btree (delivery_id);
CREATE INDEX opt_out_reader_age ON opt_out_reader USING btree (last_at);
CREATE UNIQUE INDEX opt_out_reader_key_domain_id_key ON opt_out_reader USING btree (key, domain_id);
CREATE UNIQUE INDEX opt_out_reader_pkey ON opt_out_reader USING btree (id);
CREATE INDEX override_end ON override USING btree (until);
CREATE UNIQUE INDEX override_pkey ON override USING btree (id);
CREATE UNIQUE INDEX override_scope_key_param_rule_key ON override USING btree (scope, key, param, rule);
CREATE INDEX path_change_age ON path_change USING btree (at, id);
CREATE UNIQUE INDEX path_change_pkey ON path_change USING btree (id);
CREATE INDEX path_change_site ON path_change USING btree (site, at);
CREATE INDEX path_state_age ON path_state USING btree (updated_at);
CREATE UNIQUE INDEX path_state_pkey ON path_state USING btree (key);
CREATE UNIQUE INDEX person_email_key ON person USING btree (email);
CREATE UNIQUE INDEX person_pkey ON person USING btree (id);
CREATE INDEX person_session_end ON person_session USING btree (ends_at);
CREATE INDEX person_session_person ON person_session USING btree (person_id, id);
CREATE UNIQUE INDEX person_session_pkey ON person_session USING btree (id);
CREATE UNIQUE INDEX person_session_secret_hash_key ON person_session USING btree (secret_hash);
CREATE INDEX person_session_use ON person_session USING btree (last_used_at);
CREATE UNIQUE INDEX quota_use_pkey ON quota_use USING btree (domain_id, period);
CREATE UNIQUE INDEX return_fact_pkey ON ONLY return_fact USING btree (delivery_id, kind, class, attempts);
CREATE INDEX sandbox_rule_domain ON sandbox_rule USING btree (domain_id, seq);
CREATE INDEX sandbox_rule_end ON sandbox_rule USING btree (expires_at);
CREATE UNIQUE INDEX sandbox_rule_id_key ON sandbox_rule USING btree (id);
CREATE UNIQUE INDEX sandbox_rule_pkey ON sandbox_rule USING btree (seq);
CREATE UNIQUE INDEX sandbox_rule_use_pkey ON sandbox_rule_use USING btree (delivery_id);
CREATE INDEX sandbox_rule_use_rule ON sandbox_rule_use USING btree (rule_seq);
CREATE UNIQUE INDEX signing_key_pkey ON signing_key USING btree (kid);
CREATE INDEX smtp_credential_end ON smtp_credential USING btree (expires_at) WHERE (expires_at IS NOT NULL);
CREATE INDEX smtp_credential_maker ON smtp_credential USING btree (created_by) WHERE (created_by IS NOT NULL);
CREATE UNIQUE INDEX smtp_credential_pkey ON smtp_credential USING btree (id);
CREATE INDEX smtp_credential_place ON smtp_credential USING btree (domain, id);
CREATE UNIQUE INDEX smtp_credential_username_key ON smtp_credential USING btree (username);
CREATE INDEX suppression_domain ON suppression USING btree (domain_id, id);
CREATE UNIQUE INDEX suppression_domain_id_key_reason_key ON suppression USING btree (domain_id, key, reason);
CREATE INDEX suppression_evidence_age ON suppression_evidence USING btree (last_at);
CREATE UNIQUE INDEX suppression_evidence_pkey ON suppression_evidence USING btree (domain_id, key, reason);
CREATE INDEX suppression_expiry ON suppression USING btree (expires_at) WHERE (expires_at IS NOT NULL);
CREATE UNIQUE INDEX suppression_pkey ON suppression USING btree (id);
CREATE UNIQUE INDEX template_domain_name_key ON template USING btree (domain, name);
CREATE UNIQUE INDEX template_id_key ON template USING btree (id);
CREATE INDEX template_name ON template USING btree (name, seq);
CREATE UNIQUE INDEX template_pkey ON template USING btree (seq);
CREATE INDEX template_place ON template USING btree (domain, seq);
CREATE UNIQUE INDEX template_version_pkey ON template_version USING btree (seq);
CREATE UNIQUE INDEX template_version_template_seq_version_key ON template_version USING btree (template_seq, version);
CREATE INDEX token_domain ON token USING btree ((((domains)::json ->> 0)));
CREATE INDEX token_maker ON token USING btree (created_by, id) WHERE (created_by IS NOT NULL);
CREATE UNIQUE INDEX token_pkey ON token USING btree (id);
CREATE UNIQUE INDEX warmup_pkey ON warmup USING btree (source, provider);
CREATE INDEX webhook_call_due ON ONLY webhook_call USING btree (webhook_id, due_at, id) WHERE (state = 0);
CREATE INDEX webhook_call_id ON ONLY webhook_call USING btree (id);
CREATE INDEX webhook_call_lease ON ONLY webhook_call USING btree (epoch, id) WHERE (state = 1);
CREATE UNIQUE INDEX webhook_call_pkey ON ONLY webhook_call USING btree (event_seq, webhook_id);
CREATE INDEX webhook_domain ON webhook USING btree (domain_id, id);
CREATE INDEX webhook_failing ON webhook USING btree (domain_id, id) WHERE 
CASE
    WHEN enabled THEN (failing_since IS NOT NULL)
    ELSE (disabled_reason <> 'User'::text)
END;
CREATE INDEX webhook_maker ON webhook USING btree (created_by) WHERE (created_by IS NOT NULL);
CREATE UNIQUE INDEX webhook_pkey ON webhook USING btree (id);
CREATE UNIQUE INDEX webhook_resume_pkey ON webhook_resume USING btree (webhook_id);
