/** Listing sandbox rules. */
import { RULE_COLUMNS, type RuleRow, toRule } from '../shared/rows/sandbox-rules.ts';
import { createFilter } from './engine/filter.ts';
import { read } from './engine/operation.ts';
import { findNameIds } from './engine/session.ts';

export const listSandboxRules = read('listSandboxRules', async (db, params) => {
  const filter = createFilter();
  filter.oneOf('r.domain_id', await findNameIds(db, params.domains));
  filter.when('r.expires_at > ?', params.now);
  const rows = await db.all<RuleRow>(
    `SELECT ${RULE_COLUMNS} FROM sandbox_rule r JOIN name n ON n.id = r.domain_id ${filter.where()} ORDER BY r.seq`,
    ...filter.values(),
  );
  return rows.map(toRule);
});
