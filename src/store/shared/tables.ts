/** The columns of every table. Written by docs/generate.ts from the migrations: run `npm run docs` after a new one. */
export interface Tables {
  alert: 'kind' | 'subject' | 'message' | 'since';
  alert_mail: 'id' | 'at' | 'subject' | 'text';
  audit:
    | 'id'
    | 'at'
    | 'line'
    | 'by_person'
    | 'who_id'
    | 'who_name'
    | 'operation'
    | 'resource'
    | 'ip'
    | 'changed';
  audit_count: 'line' | 'n';
  capture:
    | 'seq'
    | 'id'
    | 'domain_id'
    | 'message_seq'
    | 'delivery_id'
    | 'at'
    | 'inbox'
    | 'envelope_from'
    | 'envelope_to'
    | 'prefix'
    | 'fill'
    | 'released_at'
    | 'released_as'
    | 'subject'
    | 'seen_at';
  capture_text: 'message_seq' | 'has_files' | 'text';
  capture_unread: 'message_seq' | 'domain_id';
  cause:
    | 'id'
    | 'category'
    | 'scope'
    | 'site'
    | 'sender_domain'
    | 'shape'
    | 'reply'
    | 'first_seen'
    | 'last_seen';
  content: 'message_seq' | 'bytes' | 'places';
  delivery:
    | 'id'
    | 'message_seq'
    | 'queue_id'
    | 'state'
    | 'epoch'
    | 'attempts'
    | 'due_at'
    | 'expires_at'
    | 'updated_at'
    | 'kind'
    | 'may_be_duplicate'
    | 'sandbox'
    | 'route'
    | 'last_code'
    | 'first_deferred_at'
    | 'last_deferred_event_at'
    | 'address'
    | 'wait_reason'
    | 'last_category'
    | 'last_reply'
    | 'cause_id'
    | 'notify';
  dest_queue: 'id' | 'lane' | 'sender_domain' | 'recipient_domain' | 'route_key';
  dmarc_report:
    | 'id'
    | 'domain_id'
    | 'signed_by'
    | 'reporter'
    | 'report_id'
    | 'begin_at'
    | 'end_at'
    | 'received_at'
    | 'counts';
  domain:
    | 'id'
    | 'name'
    | 'status'
    | 'verified_by'
    | 'verify_token'
    | 'created_at'
    | 'updated_at'
    | 'verified_at'
    | 'failing_since'
    | 'last_checked_at'
    | 'last_checks'
    | 'settings'
    | 'changes';
  domain_key:
    | 'id'
    | 'domain_id'
    | 'selector'
    | 'role'
    | 'private_sealed'
    | 'public_key'
    | 'created_at'
    | 'retired_at';
  egress_fact: 'kind' | 'key' | 'value' | 'until';
  event: 'seq' | 'event_id' | 'domain_id' | 'kind' | 'at' | 'message_seq' | 'delivery_id' | 'detail';
  event_sum: 'domain_id' | 'breakdown' | 'span' | 'at' | 'kind' | 'sandbox' | 'name' | 'n';
  hold:
    | 'id'
    | 'sender_domain'
    | 'recipient_domain'
    | 'site'
    | 'lane'
    | 'reason'
    | 'until'
    | 'created_at'
    | 'created_by'
    | 'released_at';
  idempotency: 'id' | 'owner' | 'operation' | 'key' | 'fingerprint' | 'status' | 'body' | 'created_at';
  inbox: 'inbox' | 'domain_id' | 'count' | 'unseen';
  kept_content: 'domain_id' | 'message_seq' | 'size';
  later_call: 'domain_id' | 'event_seq' | 'at' | 'webhooks';
  leftover: 'kind' | 'owner';
  message:
    | 'seq'
    | 'id'
    | 'domain_id'
    | 'token_name_id'
    | 'lane'
    | 'sandbox'
    | 'needs_smtputf8'
    | 'body_offset'
    | 'size'
    | 'created_at'
    | 'expires_at'
    | 'from_address'
    | 'subject'
    | 'lists'
    | 'tags'
    | 'metadata'
    | 'eight_bit'
    | 'personal'
    | 'send_at'
    | 'expiry_given'
    | 'date_offset'
    | 'keep_content'
    | 'null_sender';
  message_metadata: 'domain_id' | 'name' | 'value' | 'message_seq';
  message_notice: 'message_seq' | 'sender' | 'ret' | 'envid' | 'orcpts';
  meta: 'name' | 'value';
  mta_sts:
    | 'domain'
    | 'policy_id'
    | 'mode'
    | 'mx'
    | 'max_age'
    | 'fetched_at'
    | 'expires_at'
    | 'renew_at'
    | 'renew_failures';
  name: 'id' | 'text';
  node:
    | 'epoch'
    | 'node_id'
    | 'started_at'
    | 'host'
    | 'pid'
    | 'roles'
    | 'sources'
    | 'beat'
    | 'heartbeat_at'
    | 'ended_at'
    | 'version'
    | 'schema_number'
    | 'settings'
    | 'lost';
  node_lease: 'name' | 'epoch' | 'taken_at' | 'asked_by';
  notice_count: 'sender' | 'hour' | 'count';
  notice_due: 'id' | 'message_seq' | 'delivery_id' | 'kind' | 'event_seq' | 'at' | 'due_from';
  opt_out_link: 'delivery_id' | 'reader_id' | 'at';
  opt_out_reader: 'id' | 'domain_id' | 'key' | 'address' | 'last_at';
  override: 'id' | 'scope' | 'key' | 'param' | 'rule' | 'value' | 'until' | 'why' | 'created_at';
  path_change: 'id' | 'source' | 'site' | 'at' | 'until' | 'reason';
  path_state:
    | 'key'
    | 'source'
    | 'site'
    | 'blocked_until'
    | 'reason'
    | 'failures'
    | 'concurrency'
    | 'updated_at'
    | 'day'
    | 'sent'
    | 'sent_before'
    | 'asked'
    | 'fingerprint';
  person:
    | 'id'
    | 'email'
    | 'password_hash'
    | 'role'
    | 'domains'
    | 'preset'
    | 'created_at'
    | 'last_sign_in_at'
    | 'disabled_at'
    | 'second_factor'
    | 'identity';
  person_session:
    | 'id'
    | 'secret_hash'
    | 'person_id'
    | 'created_at'
    | 'last_used_at'
    | 'ends_at'
    | 'user_agent'
    | 'ip'
    | 'by_provider'
    | 'proven_at';
  probe: 'id' | 'filler';
  quota_use: 'domain_id' | 'period' | 'started_at' | 'used';
  recipient_index: 'run' | 'address' | 'message_seq';
  return_fact: 'delivery_id' | 'kind' | 'class' | 'attempts' | 'at';
  sandbox_rule:
    | 'seq'
    | 'id'
    | 'domain_id'
    | 'inbox'
    | 'recipient'
    | 'subject'
    | 'tag'
    | 'result'
    | 'defers'
    | 'delay_ms'
    | 'reply_code'
    | 'reply_enhanced'
    | 'reply_text'
    | 'probability'
    | 'times'
    | 'uses'
    | 'created_at'
    | 'expires_at';
  sandbox_rule_use: 'delivery_id' | 'rule_seq' | 'at';
  signing_key: 'kid' | 'private_sealed' | 'public_jwk' | 'created_at';
  smtp_credential:
    | 'id'
    | 'username'
    | 'name'
    | 'owner'
    | 'domain'
    | 'sandbox'
    | 'salt'
    | 'hash'
    | 'cost_log2'
    | 'created_at'
    | 'notices'
    | 'created_by'
    | 'expires_at'
    | 'ip_allow_list'
    | 'rate_limit'
    | 'rate_shares';
  stored_bytes: 'domain_id' | 'bytes';
  suppression:
    | 'id'
    | 'domain_id'
    | 'key'
    | 'reason'
    | 'address'
    | 'note'
    | 'created_at'
    | 'expires_at'
    | 'message_id'
    | 'reply'
    | 'rule';
  suppression_evidence: 'domain_id' | 'key' | 'reason' | 'days' | 'first_at' | 'last_at';
  template: 'seq' | 'id' | 'domain' | 'name' | 'version' | 'created_at' | 'updated_at';
  template_version: 'seq' | 'template_seq' | 'version' | 'created_at' | 'subject' | 'html' | 'plain';
  token:
    | 'id'
    | 'name'
    | 'owner'
    | 'domains'
    | 'scopes'
    | 'sandbox'
    | 'ip_allow_list'
    | 'rate_limit'
    | 'created_at'
    | 'expires_at'
    | 'last_used_at'
    | 'last_used_ip'
    | 'revoked_at'
    | 'created_by'
    | 'rate_shares'
    | 'replaced_by';
  total: 'name' | 'n';
  unfinished: 'domain_id' | 'recipients';
  waiting_hook: 'webhook_id' | 'ready' | 'due_at' | 'waiting';
  waiting_queue: 'queue_id' | 'sender_domain' | 'due_at' | 'waiting';
  warmup: 'source' | 'provider' | 'state';
  webhook:
    | 'id'
    | 'domain_id'
    | 'event'
    | 'url'
    | 'description'
    | 'enabled'
    | 'disabled_reason'
    | 'created_at'
    | 'updated_at'
    | 'last_response_code'
    | 'last_response_body'
    | 'last_response_at'
    | 'last_response_try'
    | 'last_error'
    | 'last_latency_ms'
    | 'failing_since'
    | 'failed_tries'
    | 'blocked_tries'
    | 'secret_sealed'
    | 'previous_secret_sealed'
    | 'previous_secret_until'
    | 'created_by';
  webhook_call:
    | 'id'
    | 'webhook_id'
    | 'event_seq'
    | 'state'
    | 'epoch'
    | 'due_at'
    | 'tries'
    | 'response_code'
    | 'error'
    | 'created_at'
    | 'updated_at'
    | 'response_body'
    | 'latencies_ms';
  webhook_resume: 'webhook_id' | 'since' | 'at' | 'due_at' | 'call_id';
}
