/**
 * Sandbox rules of sender domains, and which recipient each was used for, so that a recipient's next attempt uses the
 * same rule and a count is never exceeded. Ended rules are deleted when a new one is added.
 */
import { ENDED_RULES_AT_ONCE, RULE, type RuleRow, toRule } from '../shared/rows/sandbox-rules.ts';
import { SENDER_NAME } from './captures.ts';
import { int8s, texts } from './engine/arrays.ts';
import type { Db } from './engine/db.ts';
import { createFilter } from './engine/filter.ts';
import { read, write } from './engine/operation.ts';
import { findNameIds } from './engine/session.ts';

const COLUMNS = `${RULE.columns}, n.text AS domain, r.reply_code, r.reply_enhanced, r.reply_text`;

export const addSandboxRule = write(
  'addSandboxRule',
  { serial: 'sandbox-rules' },
  async (session, params) => {
    const { db } = session;
    const { rule, now, maxPerDomain } = params;
    const known = await db.get('SELECT FROM sandbox_rule WHERE id = $1', rule.id);
    if (known !== undefined) return true;
    const ended = createFilter();
    ended.when('expires_at <= ?', now);
    await drop(db, ended, ENDED_RULES_AT_ONCE);
    const domainId = await session.nameId(rule.domain);
    const sql = 'SELECT count(*) AS n FROM sandbox_rule WHERE domain_id = $1';
    const there = await db.get<{ n: number }>(sql, domainId);
    if ((there?.n ?? 0) >= maxPerDomain) return false;
    await db.insert('sandbox_rule', {
      ...RULE.row(rule),
      domain_id: domainId,
      reply_code: rule.reply?.code ?? null,
      reply_enhanced: rule.reply?.enhanced ?? null,
      reply_text: rule.reply?.text ?? null,
    });
    return true;
  },
);

export const listSandboxRules = read('listSandboxRules', async (db, params) => {
  const filter = createFilter();
  filter.oneOf('r.domain_id', await findNameIds(db, params.domains));
  filter.when('r.expires_at > ?', params.now);
  const rows = await db.all<RuleRow>(
    `SELECT ${COLUMNS} FROM sandbox_rule r JOIN name n ON n.id = r.domain_id ${filter.where()} ORDER BY r.seq`,
    ...filter.values(),
  );
  return rows.map(toRule);
});

export const removeSandboxRules = write('removeSandboxRules', async ({ db }, params) => {
  const filter = createFilter();
  filter.oneOf('id', params.ids);
  filter.when('inbox = ?', params.inbox);
  filter.oneOf('domain_id', await findNameIds(db, params.domains));
  return drop(db, filter, params.limit);
});

/** $1: delivery, $2: ids in the order in which they are tried, $3: now. The first rule that has a use left. */
const USE = `WITH used AS (
    UPDATE sandbox_rule SET uses = uses + 1 WHERE seq = (
      SELECT r.seq FROM unnest($2::text[]) WITH ORDINALITY g (id, place) JOIN sandbox_rule r ON r.id = g.id
      WHERE r.expires_at > $3 AND (r.times IS NULL OR r.uses < r.times) ORDER BY g.place LIMIT 1 FOR UPDATE OF r)
    RETURNING *),
  noted AS (INSERT INTO sandbox_rule_use (delivery_id, rule_seq, at) SELECT $1, seq, $3 FROM used)
  SELECT ${COLUMNS} FROM used r JOIN name n ON n.id = r.domain_id`;

export const useSandboxRule = write('useSandboxRule', async ({ db }, { deliveryId, ids, now }) => {
  const before = await db.get<RuleRow & { since: number }>(
    `SELECT ${COLUMNS}, u.at AS since FROM sandbox_rule_use u JOIN sandbox_rule r ON r.seq = u.rule_seq
       JOIN name n ON n.id = r.domain_id WHERE u.delivery_id = $1`,
    deliveryId,
  );
  if (before !== undefined) return { rule: toRule(before), since: before.since };
  const row = await db.get<RuleRow>(USE, deliveryId, texts(ids), now);
  return row === undefined ? null : { rule: toRule(row), since: now };
});

export const ruleSubject = read('ruleSubject', async (db, params) => {
  const row = await db.get<{ subject: string; tags: string[] | null; sender: string }>(
    `SELECT m.subject, m.tags, ${SENDER_NAME} AS sender FROM message m WHERE m.seq = $1`,
    params.messageSeq,
  );
  return row === undefined ? null : { ...row, tags: (row.tags ?? []) as readonly string[] };
});

/** Deletes rules; the records of their uses are deleted in portions. */
async function drop(db: Db, filter: ReturnType<typeof createFilter>, limit: number): Promise<number> {
  return leaveRules(
    db,
    await db.all(
      `DELETE FROM sandbox_rule WHERE seq IN
         (SELECT seq FROM sandbox_rule ${filter.where()} ORDER BY seq LIMIT ? FOR UPDATE) RETURNING seq`,
      ...filter.values(),
      limit,
    ),
  );
}

/** Of rules that were deleted; how many. */
export async function leaveRules(db: Db, rules: readonly { seq: number }[]): Promise<number> {
  await db.run(
    "INSERT INTO leftover (kind, owner) SELECT 'sandbox-rule', * FROM unnest($1::int8[]) ON CONFLICT DO NOTHING",
    int8s(rules.map(({ seq }) => seq)),
  );
  return rules.length;
}
