/**
 * Operations that search, list or remove do not grow with what is stored: each is given the worst that a caller can ask for,
 * over a database and over one four times as large, and is measured by the pages that it reads and the rows that it changes.
 * Which operations are measured, and why the others need not be, is said where each is (`bound`, engine/operation.ts); a case
 * that is missing does not compile.
 */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { event } from '../conformance/fixtures.ts';
import { eventKindCode, returnKindCode, suppressionReasonCode } from '../shared/codes.ts';
import type { ParamsOf } from '../shared/operation.ts';
import { type Connection, openConnection } from './engine/connection.ts';
import { openDatabase } from './engine/open-database.ts';
import { createSession } from './engine/session.ts';
import { type MeasuredName, READS, WRITES } from './operations.ts';
import { temporaryFolder } from './test-support.ts';

const SMALL = 4_000;
const LARGE = 4 * SMALL;
const LOOK = 500;
const T0 = 1_790_000_000_000;

/** The worst that a caller can ask for: what matches nothing, or everything. */
const CASES: { [Name in MeasuredName]: readonly ParamsOf<Name>[] } = {
  dueQueues: [{ dueBefore: T0 * 2, limit: 100 }],
  queueCounts: [{ now: T0 }],
  waitingQueues: [
    { now: T0, limit: 10, rowsPerQueue: 100, ageLimitsMs: [] },
    { now: T0, limit: 10, rowsPerQueue: 100, ageLimitsMs: [], recipientDomains: ['none.example'] },
    { now: T0, limit: 10, rowsPerQueue: 100, ageLimitsMs: [], domains: ['other.example'] },
  ],
  waitingCounts: [{ limit: 10 }, { limit: 1e6, domains: ['other.example'] }, { limit: 1e6 }],
  suppressedDomains: [undefined],
  outcomeRates: [{ domain: 'example.com', window: 100 }],
  stats: [
    {
      kinds: ['accepted', 'delivered'],
      from: 0,
      to: T0 * 2,
      intervalMs: 3_600_000,
      groupBy: 'recipient-domain',
      includeSandbox: true,
      maxUnsummed: 1e6,
      maxCounts: 1e6,
      maxGroups: 10,
      maxCountedGroups: 100_000,
    },
  ],
  nextCallDueAt: [undefined],
  listSandboxRules: [{ now: T0 }, { now: T0, domains: ['other.example'] }],
  domainsWithMail: [undefined],
  domainsWithSums: [undefined],
  sumEvents: [{ upTo: 1e9, limit: 500 }],
  indexRecipients: [{ limit: 500 }],
  contentBytes: [undefined],
  claimCalls: [{ epoch: 1, now: T0 * 2, limit: 32, excludeWebhooks: [] }],
  removeSandboxRules: [{ limit: 100 }, { limit: 100, domains: ['other.example'] }],
  listCauses: [{ limit: 100, countUpTo: 500 }],
  getCause: [{ id: 1, countUpTo: 500 }],
  listWebhooks: [{ limit: 10 }, { limit: 10, domains: ['other.example'] }],
  listTemplates: [
    { limit: 10, domains: ['other.example'] },
    { limit: 10, name: 'none' },
    { limit: 10, name: 'none', domains: ['example.com'] },
    { limit: 10 },
  ],
  templatesNamed: [
    { limit: 10, name: 'none' },
    { limit: 10, name: 'none', domains: ['example.com'] },
  ],
  failingDomains: [{ limit: 10 }, { limit: 10, domains: ['example.com'] }],
  failingWebhooks: [{ limit: 10 }, { limit: 10, domains: ['other.example'] }],
  isReturnHost: [{ host: 'none.example' }],
  returnedDomains: [{ afterSeq: 0, look: LOOK }],
  findEvents: [
    { newestFirst: true, tag: 'none', look: LOOK, limit: 100, domains: ['example.com'] },
    { newestFirst: true, recipient: 'none@example.net', look: LOOK, limit: 100 },
    { newestFirst: false, afterSeq: 0, tag: 'none', look: LOOK, limit: 100, domains: ['example.com'] },
    { newestFirst: true, messageId: '00000000-0000-0000-0000-000000000001', look: LOOK, limit: 10 },
    { newestFirst: true, look: LOOK, limit: 100, domains: ['example.com'] },
    { newestFirst: true, possibleDuplicate: true, look: LOOK, limit: 100, domains: ['example.com'] },
  ],
  countEvents: [
    { newestFirst: true, look: LOOK, upTo: 1_000, domains: ['example.com'] },
    { newestFirst: true, tag: 'none', look: LOOK, upTo: 1_000, domains: ['example.com'] },
  ],
  listMessages: [
    { subject: 'none', look: LOOK, limit: 100, domains: ['example.com'] },
    { to: 'none@example.net', look: LOOK, limit: 100 },
    { recipientDomain: 'none.example', states: ['queued'], look: LOOK, limit: 100 },
    { tag: 'none', look: LOOK, limit: 100 },
    { lane: 'bulk', since: T0, look: LOOK, limit: 100, domains: ['example.com'] },
    { cause: 999, look: LOOK, limit: 100 },
    { cause: 1, look: LOOK, limit: 100, domains: ['quiet.example'] },
    { states: ['bounced'], look: LOOK, limit: 100, domains: ['example.com'] },
    { since: T0 + 1e9, until: T0 + 2e9, look: LOOK, limit: 100 },
    { limit: 100, look: LOOK },
  ],
  listSuppressions: [
    { reason: 'Complaint', now: T0, look: LOOK, limit: 100, domains: ['example.com'] },
    { address: 'none@example.net', now: T0, look: LOOK, limit: 100 },
  ],
  findCaptures: [
    { subject: 'none', look: LOOK, limit: 100 },
    { inbox: 'main', subject: 'none', look: LOOK, limit: 100, domains: ['other.example'] },
    { text: 'none', look: LOOK, limit: 100, domains: ['example.com'] },
    { to: 'reader@example.net', look: LOOK, limit: 100 },
  ],
  capturesSince: [{ afterSeq: 0, subject: 'none', look: LOOK, limit: 100, domains: ['example.com'] }],
  listInboxes: [{ limit: 100 }, { limit: 100, domains: ['other.example'] }],
  listAudit: [
    { operation: 'none', look: LOOK, limit: 100 },
    { who: 'none', since: T0 * 2, look: LOOK, limit: 100 },
  ],
  listTokens: [{ domains: ['other.example'], look: LOOK, limit: 100 }],
  listSmtpCredentials: [{ domains: ['other.example'], limit: 100 }],
  listDomains: [{ limit: 100 }],
  searchDomains: [{ search: 'none', look: LOOK, limit: 100 }],
  listCalls: [{ webhookId: 1, limit: 100 }],
  countPendingCalls: [
    { webhookId: 1, countUpTo: 1_000 },
    { webhookId: 3, countUpTo: 1_000 },
  ],
  causeMembers: [{ id: 1, afterId: 0, limit: 100 }],
  findExpired: [
    { what: 'messages', domain: 'example.com', before: T0 * 2, now: T0 * 2, afterSeq: 0, limit: 100 },
  ],
  findOldestContents: [{ afterSeq: 0, atLeastBytes: 1e9, limit: 100 }],
  findMentions: [{ address: 'none@example.net', afterSeq: 0, limit: 100 }],
  recordReturn: [{ fact: { kind: 'not-spam', deliveryId: 3, event: event('complaint_withdrawn') }, now: T0 }],
  returnSubjects: [{ messageSeq: 3 }, { deliveryId: 3 }],
  suppressedAmong: [{ domain: 'example.com', addresses: ['none@example.net'], now: T0 }],
  markCaptures: [
    { limit: 100, seenAt: T0 },
    { inbox: 'main', domains: ['other.example'], seenAt: T0, limit: 100 },
  ],
  deleteCaptures: [
    { limit: 100 },
    { inbox: 'main', domains: ['example.com'], limit: 100 },
    { inbox: 'main', domains: ['other.example'], limit: 100 },
  ],
  deleteWebhook: [{ id: 1 }],
  endMadeWith: [{ id: 'maker', now: T0, afterId: '', limit: 100 }],
  removeDomain: [{ name: 'example.com' }],
  purgeLeftovers: [{ limit: 100 }],
  eraseElsewhere: [
    { address: 'none@example.net', proposedKey: new Uint8Array(32), from: null, limit: 100 },
    {
      address: 'none@example.net',
      proposedKey: new Uint8Array(32),
      from: { table: 4, after: '' },
      limit: 100,
    },
  ],
  updateWebhook: [{ id: 3, status: 'Enabled', now: T0 + 1, resumeSince: T0 * 2 }],
  prepareCalls: [{ limit: 100 }],
  eraseMessages: [{ address: 'none@example.net', seqs: [3] }],
  purgeMessages: [{ seqs: [3], maxRows: 64 }],
  purgeContents: [{ seqs: [1, 2, 3], maxBytes: 1 }],
  replayCalls: [{ webhookId: 1, since: 0, until: T0 * 2, onlyFailed: true, now: T0, limit: 100 }],
  purgeIdempotency: [{ before: T0 * 2, limit: 100 }],
  purgeCaptures: [{ before: T0 * 2, now: T0 * 2, limit: 100 }],
  purgeCalls: [{ before: T0 * 2, now: T0 * 2, afterId: 0, limit: 100 }],
  purgeSuppressions: [{ now: T0 * 2, evidenceBefore: T0 * 2, limit: 100 }],
  removeSuppressions: [{ domain: 'example.com', address: 'r5@example.net', now: T0 }],
};

/** Messages, recipients, events, copies, calls and the rest, `n` of each, all of one sender domain. */
function filled(path: string, n: number): Connection {
  openDatabase(path).close();
  const db = openConnection(path, { readOnly: false, busyMs: 0 });
  const rows = `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${n})`;
  const uuid = "unhex(printf('%032x', i))";
  db.exec(`BEGIN;
    INSERT INTO name (id, text) VALUES (1, 'example.com'), (2, 'other.example'), (3, 'token'), (4, 'quiet.example');
    INSERT INTO dest_queue (id, lane, sender_domain, recipient_domain) VALUES (1, 1, 1, 'example.net');
    ${rows} INSERT INTO message (seq, id, domain_id, token_name_id, lane, sandbox, needs_smtputf8, body_offset, size,
      created_at, expires_at, from_address, subject, lists)
      SELECT i, ${uuid}, 1, 3, 1, 0, 0, 10, 100, ${T0} + i * 1000000, ${T0} * 2, 's@example.com', 'Hello', '{}' FROM n;
    ${rows} INSERT INTO delivery (id, message_seq, queue_id, state, epoch, attempts, due_at, expires_at, updated_at, kind,
      may_be_duplicate, address, cause_id) SELECT i, i, 1, 4, 0, 1, 0, ${T0} * 2, ${T0}, 1, 0, 'r' || i || '@example.net', 1 FROM n;
    -- As many messages of another domain as are looked at, none of them a member of the cause.
    INSERT INTO message (seq, id, domain_id, token_name_id, lane, sandbox, needs_smtputf8, body_offset, size,
      created_at, expires_at, from_address, subject, lists)
      SELECT 1e6 + seq, randomblob(16), 4, 3, 1, 0, 0, 10, 100, ${T0}, ${T0} * 2, 's@quiet.example', 'Hello', '{}'
      FROM message WHERE seq <= ${LOOK};
    ${rows} INSERT INTO dest_queue (id, lane, sender_domain, recipient_domain) SELECT 10 + i, 1, 1, 'w' || i || '.example' FROM n;
    ${rows} INSERT INTO delivery (message_seq, queue_id, state, epoch, attempts, due_at, expires_at, updated_at, kind,
      may_be_duplicate, address) SELECT i, 10 + i, 0, 0, 1, ${T0} + i, ${T0} * 2, ${T0}, 1, 0, 'w' || i || '@example.net' FROM n;
    ${rows} INSERT INTO sandbox_rule (id, domain_id, result, defers, delay_ms, probability, created_at, expires_at)
      SELECT 's' || i, 1, 'bounce', 0, 0, 1, ${T0}, ${T0} * 2 FROM n;
    ${rows} INSERT INTO event (event_id, domain_id, kind, at, message_seq, delivery_id)
      SELECT ${uuid}, 1, 1, ${T0} + i, iif(i % 2, 1 + i % 10, 3), i FROM n;
    ${rows} INSERT INTO event (event_id, domain_id, kind, at, message_seq, delivery_id)
      SELECT ${uuid}, 1, ${eventKindCode.of('complained')}, ${T0} + i, i, i FROM n;
    ${rows} INSERT INTO event_sum (domain_id, breakdown, span, at, kind, sandbox, name, n)
      SELECT 1, 1, 3600000, ${T0 - (T0 % 3_600_000)} - i % 1000 * 3600000, 1, 0, 'w' || i || '.example', 1 FROM n;
    INSERT INTO meta (name, value) SELECT 'events_summed', max(seq) - 600 FROM event;
    ${rows} INSERT INTO return_fact (delivery_id, kind, class, attempts, at)
      SELECT i, ${returnKindCode.of('complaint')}, '', 0, ${T0} FROM n;
    INSERT INTO suppression (domain_id, key, reason, address, note, created_at, message_id)
      SELECT 1, address, ${suppressionReasonCode.of('Complaint')}, address, '', ${T0}, m.id
      FROM delivery d CROSS JOIN message m ON m.seq = d.message_seq WHERE d.id = 3;
    ${rows} INSERT INTO token (id, name, owner, domains, scopes, sandbox, ip_allow_list, created_at, created_by)
      SELECT 't' || i, 'n', 'o', '[]', '[]', 0, '[]', ${T0}, 'maker' FROM n;
    ${rows} INSERT INTO content (message_seq, bytes) SELECT i, x'00' FROM n;
    ${rows} INSERT INTO kept_content SELECT 1, i, 1 FROM n;
    ${rows} INSERT INTO capture (id, domain_id, message_seq, delivery_id, at, inbox, envelope_from, envelope_to, prefix, subject)
      SELECT 'c' || i, 1, i, i, ${T0} + i, iif(i % 2, 'main', 'i' || i), '', 'reader@example.net', x'00', 'hello' FROM n;
    ${rows} INSERT INTO capture_text SELECT i, 0, 'what is read' FROM n;
    INSERT INTO webhook (id, domain_id, event, url, description, enabled, created_at, updated_at, last_response_code,
      last_response_body, last_response_try, last_error, failed_tries, blocked_tries, secret_sealed)
      VALUES (1, 1, 'all', '', '', 1, 0, 0, 0, '', 0, '', 0, 0, x'00');
    INSERT INTO webhook (id, domain_id, event, url, description, enabled, disabled_reason, created_at, updated_at,
      last_response_code, last_response_body, last_response_at, last_response_try, last_error, last_latency_ms,
      failing_since, failed_tries, blocked_tries, secret_sealed)
      SELECT 3, domain_id, event, url, description, 0, disabled_reason, created_at, updated_at,
      last_response_code, last_response_body, last_response_at, last_response_try, last_error, last_latency_ms,
      failing_since, failed_tries, blocked_tries, secret_sealed FROM webhook WHERE id = 1;
    ${rows} INSERT INTO name SELECT 100 + i, 'h' || i || '.example' FROM n;
    ${rows} INSERT INTO webhook (domain_id, event, url, description, enabled, created_at, updated_at, last_response_code,
      last_response_body, last_response_try, last_error, failed_tries, blocked_tries, secret_sealed)
      SELECT 100 + i, 'all', '', '', 1, 0, 0, 0, '', 0, '', 0, 0, x'00' FROM n;
    ${rows} INSERT INTO template (id, domain, name, version, created_at, updated_at)
      SELECT 't' || i, iif(i <= 500, 'example.com', 'd' || i), 'n' || i, 1, 0, 0 FROM n;
    ${rows} INSERT INTO later_call SELECT 2, i, ${T0}, '[1,3]' FROM n;
    ${rows} INSERT INTO webhook_call (webhook_id, event_seq, state, epoch, due_at, tries, response_code, error, created_at, updated_at)
      SELECT iif(i % 2, 1, iif(i % 4, 9, 3)), i, 0, 0, ${T0}, 0, 0, '', ${T0}, ${T0} FROM n;
    INSERT INTO leftover VALUES ('webhook', 9);
    INSERT INTO cause (id, category, scope, site, sender_domain, shape, reply, first_seen, last_seen)
      VALUES (1, 'c', 'path', 's', 0, 'x', 'y', 0, 0);
    ${rows} INSERT INTO suppression (domain_id, key, reason, address, note, created_at)
      SELECT 1, 'r' || i || '@example.net', 1, 'r' || i || '@example.net', '', ${T0} FROM n;
    ${rows} INSERT INTO token (id, name, owner, domains, scopes, sandbox, ip_allow_list, created_at)
      SELECT printf('%032x', i), 't', 'o', '["example.com"]', '[]', 0, '[]', ${T0} FROM n;
    ${rows} INSERT INTO audit (id, at, line, by_person, who_id, who_name, operation, resource, ip)
      SELECT printf('%032x', i), ${T0}, 'l', 0, 'w', 'n', 'createToken', 'r', '' FROM n;
    ${rows} INSERT INTO smtp_credential (id, username, name, owner, domain, sandbox, salt, hash, cost_log2, created_at)
      SELECT printf('%032x', i), 'u' || i, 'n', 'o', 'example.com', 0, x'00', x'00', 1, ${T0} FROM n;
    ${rows} INSERT INTO domain (name, status, verify_token, created_at, updated_at)
      SELECT iif(i = 1, 'example.com', 'd' || i || '.example'), 'Verified', '', ${T0}, ${T0} FROM n;
    ${rows} INSERT INTO idempotency (owner, operation, key, fingerprint, status, body, created_at)
      SELECT 'o', 'p', 'k' || i, x'00', 200, '{}', ${T0} FROM n;
    COMMIT; PRAGMA wal_checkpoint(TRUNCATE); PRAGMA cache_size = 0;`);
  return db;
}

/** Octets that this thread has read. */
function octetsRead(): number {
  return Number(/rchar: (\d+)/.exec(readFileSync('/proc/thread-self/io', 'utf8'))?.[1]);
}

/** Pages read and rows changed by `work`, which is taken back. */
function costOf(db: Connection, work: () => unknown): number {
  const changed = () => db.get<{ n: number }>('SELECT total_changes() AS n')?.n ?? 0;
  db.exec('BEGIN');
  const from = octetsRead();
  const idle = octetsRead() - from;
  const rows = changed();
  const begun = octetsRead();
  work();
  const pages = (octetsRead() - begun - idle) / 4096;
  const cost = pages + changed() - rows;
  db.exec('ROLLBACK');
  return cost;
}

/** Of a read in steps, what the most expensive one costs. */
function mostOf(db: Connection, work: () => unknown): number {
  let result: unknown;
  let most = costOf(db, () => {
    result = work();
  });
  const steps = result as Partial<Generator> | null;
  if (typeof steps?.next !== 'function') return most;
  for (let done = false; !done; )
    most = Math.max(
      most,
      costOf(db, () => {
        done = steps.next?.().done === true;
      }),
    );
  return most;
}

const cases = Object.entries(CASES).flatMap(([name, all]) => all.map((params, i) => ({ name, i, params })));

describe.skipIf(process.platform !== 'linux')(
  'the work of one operation (skipped where there is no /proc)',
  () => {
    const folder = temporaryFolder();
    let small: Connection;
    let large: Connection;
    beforeAll(() => {
      small = filled(folder.file('small.db'), SMALL);
      large = filled(folder.file('large.db'), LARGE);
    });
    afterAll(() => {
      small.close();
      large.close();
      folder.remove();
    });

    function cost(db: Connection, name: string, params: unknown): number {
      const operation = { ...READS, ...WRITES }[name as MeasuredName];
      const run = operation as unknown as (on: unknown, params: unknown) => unknown;
      return mostOf(db, () => run(operation.kind === 'read' ? db : createSession(db), params));
    }

    it.each(cases)('$name ($i) does not grow with what is stored', ({ name, params }) => {
      const [before, after] = [cost(small, name, params), cost(large, name, params)];
      // A tree may be a level deeper; a walk over everything would cost four times as much.
      expect(after, `${before} pages and rows, then ${after}`).toBeLessThan(before * 2 + 40);
    });

    it('would be seen to grow where everything is walked', () => {
      const walk = (db: Connection) =>
        costOf(db, () => db.all("SELECT seq FROM event WHERE detail = 'none'"));
      expect(walk(large)).toBeGreaterThan(walk(small) * 3);
    });
  },
);
