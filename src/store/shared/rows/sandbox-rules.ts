/** Sandbox rules, as rows. */
import type { SandboxRule } from '../../../model/sandbox-rule.ts';
import { record } from '../record.ts';

/** Ended rules that one new rule deletes: more than it adds. */
export const ENDED_RULES_AT_ONCE = 200;

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

export interface RuleRow {
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
