/**
 * Faults on demand: rules of sender domains, and which recipient each was used for, so that a recipient's next attempt
 * is played by the same rule and a count is never exceeded. All that ends is removed when the next rule comes.
 */
import type { RuleResult, SandboxRule } from '../../model/sandbox-rule.ts';
import { senderName } from './captures.ts';
import type { Connection } from './engine/connection.ts';
import { createFilter } from './engine/filter.ts';
import { mergedRows, type Ranges } from './engine/merged.ts';
import { read, readInSteps, write } from './engine/operation.ts';
import { findNameIds } from './engine/session.ts';
import { leaveRows } from './leftovers.ts';

const VIEW = 'SELECT r.*, n.text AS domain FROM sandbox_rule r CROSS JOIN name n ON n.id = r.domain_id';

/** Ended rules that one new rule clears away: more than it adds. */
const ENDED_AT_ONCE = 200;
const RULES_PER_STEP = 500;

export const addSandboxRule = write('addSandboxRule', 'by key', { synced: true }, (session, params) => {
  const { db } = session;
  const { rule } = params;
  drop(db, db.all('SELECT seq FROM sandbox_rule WHERE expires_at <= ? LIMIT ?', params.now, ENDED_AT_ONCE));
  const domainId = session.nameId(rule.domain);
  const there = db.get<{ n: number }>('SELECT count(*) AS n FROM sandbox_rule WHERE domain_id = ?', domainId);
  if ((there?.n ?? 0) >= params.maxPerDomain) return false;
  db.run(
    `INSERT INTO sandbox_rule (id, domain_id, inbox, recipient, subject, tag, result, defers, delay_ms, reply_code,
       reply_enhanced, reply_text, probability, times, uses, created_at, expires_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    rule.id,
    domainId,
    rule.inbox,
    rule.recipient,
    rule.subject,
    rule.tag,
    rule.result,
    rule.defers,
    rule.delayMs,
    rule.reply?.code ?? null,
    rule.reply?.enhanced ?? null,
    rule.reply?.text ?? null,
    rule.probability,
    rule.times,
    rule.uses,
    rule.createdAt,
    rule.expiresAt,
  );
  return true;
});

export const listSandboxRules = readInSteps('listSandboxRules', function* (db, params) {
  const domainIds = findNameIds(db, params.domains);
  const rules: SandboxRule[] = [];
  let seq = 0;
  for (;;) {
    const behind = [seq, params.now];
    const ranges: Ranges<RuleRow & { seq: number }> = {
      sql: `${VIEW} WHERE ${domainIds === undefined ? '' : 'r.domain_id = ? AND '}r.seq > ? AND r.expires_at > ?`,
      values: domainIds?.map((id) => [id, ...behind]) ?? [behind],
      order: 'seq',
      compare: (a, b) => a.seq - b.seq,
    };
    const rows = mergedRows(db, ranges, RULES_PER_STEP);
    for (const row of rows) rules.push(toRule(row));
    if (rows.length < RULES_PER_STEP) return rules;
    seq = rows.at(-1)?.seq ?? seq;
    yield;
  }
});

export const removeSandboxRules = write(
  'removeSandboxRules',
  'measured',
  { synced: true },
  ({ db }, params) => {
    const filter = createFilter();
    filter.oneOf('id', params.ids);
    filter.when('inbox = ?', params.inbox);
    filter.oneOf('domain_id', findNameIds(db, params.domains));
    const rows = db.all<{ seq: number }>(
      `SELECT seq FROM sandbox_rule ${filter.where()} LIMIT ?`,
      ...filter.values(),
      params.limit,
    );
    drop(db, rows);
    return rows.length;
  },
);

export const useSandboxRule = write('useSandboxRule', 'by key', ({ db }, params) => {
  const { deliveryId, now } = params;
  const before = db.get<RuleRow & { since: number }>(
    `SELECT r.*, n.text AS domain, u.at AS since FROM sandbox_rule_use u CROSS JOIN sandbox_rule r ON r.seq = u.rule_seq
       CROSS JOIN name n ON n.id = r.domain_id WHERE u.delivery_id = ?`,
    deliveryId,
  );
  if (before !== undefined) return { rule: toRule(before), since: before.since };
  for (const id of params.ids) {
    const used = db.get<{ seq: number }>(
      `UPDATE sandbox_rule SET uses = uses + 1
       WHERE id = ? AND expires_at > ? AND (times IS NULL OR uses < times) RETURNING seq`,
      id,
      now,
    );
    if (used === undefined) continue;
    db.run(
      'INSERT INTO sandbox_rule_use (delivery_id, rule_seq, at) VALUES (?, ?, ?)',
      deliveryId,
      used.seq,
      now,
    );
    const row = db.get<RuleRow>(`${VIEW} WHERE r.seq = ?`, used.seq);
    return row === undefined ? null : { rule: toRule(row), since: now };
  }
  return null;
});

export const ruleSubject = read('ruleSubject', 'by key', (db, params) => {
  const row = db.get<{ subject: string; tags: string | null }>(
    'SELECT subject, tags FROM message WHERE seq = ?',
    params.messageSeq,
  );
  if (row === undefined) return null;
  return {
    subject: row.subject,
    tags: row.tags === null ? [] : (JSON.parse(row.tags) as string[]),
    sender: senderName(db, params.messageSeq),
  };
});

function drop(db: Connection, rows: readonly { seq: number }[]): void {
  for (const { seq } of rows) {
    db.run('DELETE FROM sandbox_rule WHERE seq = ?', seq);
    leaveRows(db, 'sandbox-rule', seq);
  }
}

interface RuleRow {
  id: string;
  domain: string;
  inbox: string | null;
  recipient: string | null;
  subject: string | null;
  tag: string | null;
  result: string;
  defers: number;
  delay_ms: number;
  reply_code: number | null;
  reply_enhanced: string | null;
  reply_text: string | null;
  probability: number;
  times: number | null;
  uses: number;
  created_at: number;
  expires_at: number;
}

function toRule(row: RuleRow): SandboxRule {
  return {
    id: row.id,
    domain: row.domain,
    inbox: row.inbox,
    recipient: row.recipient,
    subject: row.subject,
    tag: row.tag,
    result: row.result as RuleResult,
    defers: row.defers,
    delayMs: row.delay_ms,
    reply:
      row.reply_code === null
        ? null
        : { code: row.reply_code, enhanced: row.reply_enhanced ?? '', text: row.reply_text ?? '' },
    probability: row.probability,
    times: row.times,
    uses: row.uses,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
  };
}
