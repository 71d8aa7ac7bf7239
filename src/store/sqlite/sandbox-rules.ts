/**
 * Sandbox rules of sender domains, and which recipient each was used for, so that a recipient's next attempt uses the
 * same rule and a count is never exceeded. Ended rules are deleted when a new one is added.
 */

import type { SandboxRule } from '../../model/sandbox-rule.ts';
import { ENDED_RULES_AT_ONCE, RULE, type RuleRow, toRule } from '../shared/rows/sandbox-rules.ts';
import { senderName } from './captures.ts';
import type { Connection } from './engine/connection.ts';
import { createFilter } from './engine/filter.ts';
import { mergedRows, type Ranges } from './engine/merged.ts';
import { read, readInSteps, write } from './engine/operation.ts';
import { findNameIds } from './engine/session.ts';
import { leaveRows } from './leftovers.ts';

const COLUMNS = `r.seq, ${RULE.columns}, n.text AS domain, r.reply_code, r.reply_enhanced, r.reply_text`;
const VIEW = `SELECT ${COLUMNS} FROM sandbox_rule r CROSS JOIN name n ON n.id = r.domain_id`;

const RULES_PER_STEP = 500;

export const addSandboxRule = write('addSandboxRule', 'by key', { synced: true }, (session, params) => {
  const { db } = session;
  const { rule } = params;
  if (db.get('SELECT 1 FROM sandbox_rule WHERE id = ?', rule.id) !== undefined) return true;
  drop(
    db,
    db.all('SELECT seq FROM sandbox_rule WHERE expires_at <= ? LIMIT ?', params.now, ENDED_RULES_AT_ONCE),
  );
  const domainId = session.nameId(rule.domain);
  const there = db.get<{ n: number }>('SELECT count(*) AS n FROM sandbox_rule WHERE domain_id = ?', domainId);
  if ((there?.n ?? 0) >= params.maxPerDomain) return false;
  db.insert('sandbox_rule', {
    ...RULE.row(rule),
    domain_id: domainId,
    reply_code: rule.reply?.code ?? null,
    reply_enhanced: rule.reply?.enhanced ?? null,
    reply_text: rule.reply?.text ?? null,
  });
  return true;
});

export const listSandboxRules = readInSteps('listSandboxRules', function* (db, params) {
  const domainIds = findNameIds(db, params.domains);
  const rules: SandboxRule[] = [];
  let seq = 0;
  for (;;) {
    const behind = [seq, params.now];
    const ranges: Ranges = {
      sql: `${VIEW} WHERE ${domainIds === undefined ? '' : 'r.domain_id = ? AND '}r.seq > ? AND r.expires_at > ?`,
      values: domainIds?.map((id) => [id, ...behind]) ?? [behind],
      order: 'seq',
    };
    const rows = mergedRows<RuleRow & { seq: number }>(db, ranges, RULES_PER_STEP);
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
    `SELECT ${COLUMNS}, u.at AS since FROM sandbox_rule_use u CROSS JOIN sandbox_rule r ON r.seq = u.rule_seq
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
    db.insert('sandbox_rule_use', { delivery_id: deliveryId, rule_seq: used.seq, at: now });
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
