/**
 * Sandbox rules of sender domains, and which recipient each was used for, so that a recipient's next attempt uses the
 * same rule and a count is never exceeded. Ended rules are deleted when a new one is added. Each engine lists them.
 */
import type { Filter } from '../filter.ts';
import { count, type Db, read, write } from '../operation.ts';
import type { ColumnValue } from '../record.ts';
import { SENDER_NAME } from '../rows/captures.ts';
import { RULE, RULE_COLUMNS, type RuleRow, toRule } from '../rows/sandbox-rules.ts';
import { type StoredTexts, textsOf } from '../stored.ts';
import type { Work } from '../work.ts';
import { leaveRows } from './removal.ts';

/** Ended rules that one new rule deletes: more than it adds. */
const ENDED_AT_ONCE = 200;

export const addSandboxRule = write(
  'addSandboxRule',
  'by key',
  { synced: true, serial: 'sandbox-rules' },
  function* (session, { rule, now, maxPerDomain }) {
    const { db } = session;
    if ((yield* db.get('SELECT 1 FROM sandbox_rule WHERE id = ?', rule.id)) !== undefined) return true;
    const ended = db.filter();
    ended.when('expires_at <= ?', now);
    yield* drop(db, ended, ENDED_AT_ONCE);
    const domainId = yield* session.nameId(rule.domain);
    const n = yield* count(db, 'SELECT count(*) AS n FROM sandbox_rule WHERE domain_id = ?', domainId);
    if (n >= maxPerDomain) return false;
    yield* db.insert('sandbox_rule', {
      ...RULE.row(rule),
      domain_id: domainId,
      reply_code: rule.reply?.code ?? null,
      reply_enhanced: rule.reply?.enhanced ?? null,
      reply_text: rule.reply?.text ?? null,
    });
    return true;
  },
);

export const removeSandboxRules = write(
  'removeSandboxRules',
  'measured',
  { synced: true },
  function* ({ db }, { ids, inbox, domains, limit }) {
    const filter = db.filter();
    filter.oneOf('id', ids);
    filter.when('inbox = ?', inbox);
    filter.oneOf('domain_id', yield* db.nameIds(domains));
    return yield* drop(db, filter, limit);
  },
);

/** Deletes rules; the records of their uses are deleted in portions. How many. */
function* drop(db: Db, filter: Filter<ColumnValue>, limit: number): Work<number> {
  const these = `SELECT seq FROM sandbox_rule ${filter.where()} {|ORDER BY seq} LIMIT ? {|FOR UPDATE}`;
  const rows = yield* db.all<{ seq: number }>(
    `DELETE FROM sandbox_rule WHERE seq IN (${these}) RETURNING seq`,
    ...filter.values(),
    limit,
  );
  yield* leaveRows(
    db,
    'sandbox-rule',
    rows.map(({ seq }) => seq),
  );
  return rows.length;
}

const VIEW = `SELECT ${RULE_COLUMNS} FROM sandbox_rule r JOIN name n ON n.id = r.domain_id`;

export const useSandboxRule = write('useSandboxRule', 'by key', {}, function* ({ db }, params) {
  const { deliveryId, ids, now } = params;
  const before = yield* db.get<RuleRow & { since: number }>(
    `SELECT ${RULE_COLUMNS}, u.at AS since FROM sandbox_rule_use u JOIN sandbox_rule r ON r.seq = u.rule_seq
       JOIN name n ON n.id = r.domain_id WHERE u.delivery_id = ?`,
    deliveryId,
  );
  if (before !== undefined) return { rule: toRule(before), since: before.since };
  const usable = db.filter();
  usable.oneOf('id', ids);
  usable.when('expires_at > ?', now);
  const rows = yield* db.all<{ id: string }>(
    `SELECT id FROM sandbox_rule ${usable.where()} AND (times IS NULL OR uses < times)`,
    ...usable.values(),
  );
  // Asked again when it is used: others may do that at the same moment.
  const left = new Set(rows.map(({ id }) => id));
  for (const id of ids.filter((one) => left.has(one))) {
    const used = yield* db.get<{ seq: number }>(
      `UPDATE sandbox_rule SET uses = uses + 1
       WHERE id = ? AND expires_at > ? AND (times IS NULL OR uses < times) RETURNING seq`,
      id,
      now,
    );
    if (used === undefined) continue;
    yield* db.insert('sandbox_rule_use', { delivery_id: deliveryId, rule_seq: used.seq, at: now });
    const row = yield* db.get<RuleRow>(`${VIEW} WHERE r.seq = ?`, used.seq);
    return row === undefined ? null : { rule: toRule(row), since: now };
  }
  return null;
});

export const ruleSubject = read('ruleSubject', 'by key', {}, function* (db, { messageSeq }) {
  const row = yield* db.get<{ subject: string; tags: StoredTexts; sender: string }>(
    `SELECT m.subject, m.tags, ${SENDER_NAME} AS sender FROM message m WHERE m.seq = ?`,
    messageSeq,
  );
  return row === undefined ? null : { ...row, tags: textsOf(row.tags) };
});
