/** Listing sandbox rules, in steps. */
import type { SandboxRule } from '../../model/sandbox-rule.ts';
import { RULE_COLUMNS, type RuleRow, toRule } from '../shared/rows/sandbox-rules.ts';
import { mergedRows, type Ranges } from './engine/merged.ts';
import { readInSteps } from './engine/operation.ts';
import { findNameIds } from './engine/session.ts';

const VIEW = `SELECT ${RULE_COLUMNS} FROM sandbox_rule r CROSS JOIN name n ON n.id = r.domain_id`;

const RULES_PER_STEP = 500;

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
    const rows = mergedRows<RuleRow>(db, ranges, RULES_PER_STEP);
    for (const row of rows) rules.push(toRule(row));
    if (rows.length < RULES_PER_STEP) return rules;
    seq = rows.at(-1)?.seq ?? seq;
    yield;
  }
});
