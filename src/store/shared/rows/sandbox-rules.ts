/** Sandbox rules, as rows. */
import type { SandboxRule } from '../../../model/sandbox-rule.ts';
import { record } from '../record.ts';

export const RULE = record<Omit<SandboxRule, 'domain' | 'reply'>>(
  {
    id: 'plain',
    inbox: 'plain',
    recipient: 'plain',
    subject: 'plain',
    tag: 'plain',
    result: 'plain',
    defers: 'plain',
    delayMs: 'plain',
    probability: 'plain',
    times: 'plain',
    uses: 'plain',
    createdAt: 'plain',
    expiresAt: 'plain',
  },
  'r.',
);

/** Everything `toRule` needs of a rule `r` and its domain's name `n`. */
export const RULE_COLUMNS = `r.seq, ${RULE.columns}, n.text AS domain, r.reply_code, r.reply_enhanced, r.reply_text`;

export interface RuleRow {
  seq: number;
  domain: string;
  reply_code: number | null;
  reply_enhanced: string | null;
  reply_text: string | null;
}

export function toRule(row: RuleRow): SandboxRule {
  const { reply_code: code, reply_enhanced: enhanced, reply_text: text } = row;
  return {
    ...RULE.value(row),
    domain: row.domain,
    reply: code === null ? null : { code, enhanced: enhanced ?? '', text: text ?? '' },
  };
}
