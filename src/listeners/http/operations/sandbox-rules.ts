/**
 * Sandbox rules (GET, POST, DELETE /sandbox/rules): the simulated results for matching recipients. Every rule ends by
 * itself: one left by an interrupted test run is gone a day later.
 */

import { z } from 'zod';
import { AppError } from '../../../lib/errors.ts';
import { isUuid } from '../../../lib/ids.ts';
import type { RuleResult, SandboxRule } from '../../../model/sandbox-rule.ts';
import { pickDomain } from '../../../policy/access/rights.ts';
import { MAX_RULES_PER_DOMAIN } from '../../../policy/sandbox/sandbox-rules.ts';
import { type Answer, count, nothing, pageOf, time } from '../answer-schemas.ts';
import { oneLine } from '../body/text-rules.ts';
import type { ApiParts } from '../deps.ts';
import { operation, withoutUndefined } from '../operation.ts';
import { inOrder, memoryPaging } from '../paging.ts';
import { DOMAIN, text } from '../query.ts';
import { type ApiRoute, existing, invalidParameter, isoTime, refuse } from '../route.ts';
import { capturesDeleted } from '../sandbox/captures.ts';
import { ownDomains } from '../tenancy.ts';

const WORDS = {
  deliver: 'Deliver',
  bounce: 'Bounce',
  softbounce: 'SoftBounce',
  defer: 'Defer',
  fail: 'Fail',
  complain: 'Complain',
  open: 'Open',
  click: 'Click',
} as const satisfies Readonly<Record<RuleResult, string>>;
const RESULTS = Object.keys(WORDS) as (keyof typeof WORDS)[];
const RESULT_WORDS = Object.values(WORDS);

const ruleItem = z
  .object({
    RuleID: z.uuid(),
    Domain: z.string(),
    Inbox: z.string().nullable(),
    Recipient: z.string().nullable(),
    Subject: z.string().nullable(),
    Tag: z.string().nullable(),
    Result: z.enum(RESULT_WORDS),
    Defers: count.describe('Of Defer: how often before it is delivered'),
    DelayMs: count,
    Reply: z.object({ Code: count, Enhanced: z.string(), Text: z.string() }).nullable(),
    Probability: z.number(),
    Times: count.nullable().describe('null = every recipient that fits'),
    Uses: count.describe('Recipients it was used for'),
    CreatedAt: time,
    ExpiresAt: time,
  })
  .meta({ id: 'SandboxRule' });

const REPLIED: ReadonlySet<RuleResult> = new Set(['bounce', 'softbounce', 'defer']);
const DAY_SECONDS = 86_400;
const MAX_DELAY_MS = 3_600_000;
const PAGES = memoryPaging('rules', ({ createdAt, id }: SandboxRule) => `${inOrder(createdAt)} ${id}`);
const PLAIN = /^[\x20-\x7e]+$/;

const RULE = z.object({
  Domain: z.string().max(253).optional().describe('Sender domain; needed if the token has several'),
  Inbox: oneLine(320).min(1).optional(),
  Recipient: oneLine(320)
    .min(1)
    .optional()
    .describe('An address, or * and how it ends: *@example.net, *+late@example.net'),
  Subject: oneLine(998).min(1).optional().describe('Held by the subject, in any case'),
  Tag: oneLine(256).min(1).optional(),
  Result: z.string().max(32).describe('Deliver, Bounce, SoftBounce, Defer, Fail, Complain, Open or Click'),
  Defers: z.int().min(1).max(20).optional().describe('Of Defer: how often before it is delivered; 1'),
  DelayMs: z.int().min(0).max(MAX_DELAY_MS).optional().describe('Before the first try'),
  Code: z.int().min(400).max(599).optional().describe('SMTP reply: 5xx for a bounce, 4xx for Defer'),
  Enhanced: z
    .string()
    .regex(/^[45]\.[0-9]{1,3}\.[0-9]{1,3}$/)
    .optional(),
  Text: z.string().min(1).max(200).regex(PLAIN).optional(),
  Probability: z.number().gt(0).max(1).optional(),
  Times: z.int().min(1).max(1_000_000).optional().describe('Recipients it is used for; all where left out'),
  ExpiresIn: z
    .int()
    .min(1)
    .max(30 * DAY_SECONDS)
    .optional()
    .describe('Seconds; a day'),
});

export function sandboxRuleOperations({
  sandboxRules: rules,
  createOnce,
  clock,
}: ApiParts): readonly ApiRoute[] {
  return [
    operation('GET /sandbox/rules', {
      id: 'listSandboxRules',
      scope: 'email:read',
      summary: 'List sandbox rules',
      description: 'Sandbox rules, oldest first, with their use counts, a page. `Domain` filters',
      query: { ...DOMAIN, ...PAGES.query },
      answer: pageOf('SandboxRuleList', ruleItem),
      handle: async ({ query, visible }) =>
        // At most 100 per domain, and this process has them all in memory.
        PAGES.pageOf(await rules.list(visible), query, toItem),
    }),
    operation('POST /sandbox/rules', {
      id: 'createSandboxRule',
      scope: 'email:send',
      summary: 'Create a sandbox rule',
      description:
        '`{Domain?, Inbox?, Recipient?, Subject?, Tag?, Result, Defers?, DelayMs?, Code?, Enhanced?, Text?, Probability?, Times?, ExpiresIn?}`: the result that the sandbox simulates for recipients that match all conditions and would be delivered there otherwise, 201 with its `RuleID`. It applies to mail accepted from now on; the first rule that matches is used. Results, events and webhooks are those of real mail, marked `Sandbox`; nothing is suppressed. A `Result` in the request, or a recipient at `simulator-domain`, takes precedence. Ends after `ExpiresIn` seconds (default one day, at most 30 days). At most 100 a domain. Takes `Idempotency-Key`',
      once: createOnce,
      body: { schema: RULE, example: { Recipient: '*@example.net', Result: 'Defer', Defers: 2, Times: 1 } },
      status: 201,
      answer: ruleItem,
      errors: ['domain-ambiguous', 'not-found', 'sandbox-result-unknown', 'sandbox-rule-limit'],
      handle: async ({ caller, body, key }) => {
        const domain = pickDomain(caller, body.Domain);
        const result = RESULTS.find((known) => known === body.Result.toLowerCase());
        if (result === undefined) {
          const message = `Result must be one of ${RESULT_WORDS.join(', ')}`;
          throw new AppError('sandbox-result-unknown', { field: '/Result', message });
        }
        if (body.Defers !== undefined && result !== 'defer') {
          throw invalidParameter('Defers belongs to the Result Defer', 'Defers');
        }
        const wanted = {
          domain,
          inbox: body.Inbox?.toLowerCase() ?? null,
          recipient: recipientOf(body.Recipient),
          subject: body.Subject ?? null,
          tag: body.Tag ?? null,
          result,
          defers: result === 'defer' ? (body.Defers ?? 1) : 0,
          delayMs: body.DelayMs ?? 0,
          reply: replyOf(body, result),
          probability: body.Probability ?? 1,
          times: body.Times ?? null,
          expiresAt: clock.now() + (body.ExpiresIn ?? DAY_SECONDS) * 1000,
        };
        const rule = await rules.add(wanted, key && ((made) => key(toItem(made))));
        if (rule === null) {
          throw refuse('sandbox-rule-limit', `${domain} has ${MAX_RULES_PER_DOMAIN} rules; delete some`);
        }
        return toItem(rule);
      },
    }),
    operation('DELETE /sandbox/rules', {
      id: 'deleteSandboxRules',
      scope: 'email:send',
      summary: 'Delete sandbox rules',
      description:
        'Removes the rules of the token’s domains, or those of one `Inbox`, or of one `Domain`: `{Deleted}`',
      query: { Inbox: text('Only those of this inbox', 320), ...DOMAIN },
      answer: capturesDeleted,
      handle: async ({ query, visible }) => ({
        Deleted: await rules.remove({
          ...visible,
          ...withoutUndefined({ inbox: query.Inbox?.toLowerCase() }),
        }),
      }),
    }),
    operation('DELETE /sandbox/rules/:id', {
      id: 'deleteSandboxRule',
      scope: 'email:send',
      summary: 'End one fault of the sandbox',
      description:
        'Removes one rule: `{}`. Recipients that wait because of it are delivered at the next attempt',
      answer: nothing,
      handle: async ({ caller, params }) => {
        const id = params.id.toLowerCase();
        existing(isUuid(id) && (await rules.remove({ ids: [id], ...ownDomains(caller) })) > 0);
        return {};
      },
    }),
  ];
}

/** In lower case; a star only at the start. */
function recipientOf(given: string | undefined): string | null {
  if (given === undefined) return null;
  const wanted = given.trim().toLowerCase();
  if (wanted.indexOf('*', 1) > 0 || !(wanted.startsWith('*') || /^[^@\s]+@[^@\s]+$/.test(wanted))) {
    throw invalidParameter(
      'Recipient is an address, or * and how it ends, such as *@example.net',
      'Recipient',
    );
  }
  return wanted;
}

function replyOf(
  body: { Code?: number | undefined; Enhanced?: string | undefined; Text?: string | undefined },
  result: RuleResult,
): SandboxRule['reply'] {
  if (body.Code === undefined && body.Enhanced === undefined && body.Text === undefined) return null;
  if (!REPLIED.has(result)) {
    throw invalidParameter('Code, Enhanced and Text belong to Bounce, SoftBounce and Defer', 'Code');
  }
  const first = result === 'defer' ? '4' : '5';
  const code = body.Code ?? Number(`${first}50`);
  const enhanced = body.Enhanced ?? `${first}.0.0`;
  if (!String(code).startsWith(first) || !enhanced.startsWith(first)) {
    throw invalidParameter(
      `Code and Enhanced begin with ${first} where the Result is ${WORDS[result]}`,
      'Code',
    );
  }
  return { code, enhanced, text: body.Text ?? 'Simulated by a rule' };
}

function toItem(rule: SandboxRule): Answer<typeof ruleItem> {
  return {
    RuleID: rule.id,
    Domain: rule.domain,
    Inbox: rule.inbox,
    Recipient: rule.recipient,
    Subject: rule.subject,
    Tag: rule.tag,
    Result: WORDS[rule.result],
    Defers: rule.defers,
    DelayMs: rule.delayMs,
    Reply:
      rule.reply === null
        ? null
        : { Code: rule.reply.code, Enhanced: rule.reply.enhanced, Text: rule.reply.text },
    Probability: rule.probability,
    Times: rule.times,
    Uses: rule.uses,
    CreatedAt: isoTime(rule.createdAt),
    ExpiresAt: isoTime(rule.expiresAt),
  };
}
