/** The form of `GET /attention`: items, each with its severity, its fix and the operation that mends it. */
import { z } from 'zod';
import { capital } from '../../../lib/capital.ts';
import { type Answer, count, time } from '../answer-schemas.ts';

const action = z
  .object({
    Label: z.string().describe('For a button'),
    Method: z.enum(['GET', 'POST', 'PATCH']),
    Path: z.string().describe('Below /api/v1'),
    Body: z.record(z.string(), z.string()).describe('Empty where the operation takes none'),
  })
  .meta({
    id: 'AttentionAction',
    description: 'The operation that mends it, or finds out whether it is mended',
  });

const attentionItem = z
  .object({
    Kind: z.enum(['server', 'domain', 'guard-rail', 'site', 'relay', 'webhook', 'hold', 'warm-up']),
    Severity: z.enum(['Failing', 'Warning']).describe('Failing: something is not sent, taken or told'),
    Subject: z.string().describe('What it is about: a check, domain, site, relay, HoldID, id of a webhook'),
    Message: z.string().describe('What is wrong'),
    Fix: z.string().describe('What to do'),
    Since: time.nullable(),
    Until: time.nullable().describe('When it ends, or is tried again, by itself'),
    Waiting: count
      .nullable()
      .describe('Recipients, or calls of a webhook, that wait for it; null = not known'),
    Action: action.nullable(),
    Command: z.string().nullable().describe('The same for a terminal'),
  })
  .meta({ id: 'AttentionItem' });

export const attentionAnswer = z
  .object({
    Items: z.array(attentionItem).describe('The worst first; at most twenty of a kind'),
    More: z.boolean().describe('There are more of some kind'),
    Waiting: z
      .object({ critical: count, normal: count, bulk: count })
      .describe('Recipients that wait, by priority; without the sandbox'),
    Complete: z.boolean().describe('false: more wait than were counted'),
    ExaminedAt: time
      .nullable()
      .describe(
        'When this server itself was examined last (`GET /doctor`); null: not yet, or not for this token',
      ),
  })
  .meta({ id: 'Attention' });

export type AttentionItem = Answer<typeof attentionItem>;
export type AttentionAnswer = Answer<typeof attentionAnswer>;

export const MAX_OF_A_KIND = 20;
/** Characters of a reply. */
export const SHOWN_REPLY = 300;
export const NOTHING_ELSE = { Since: null, Until: null, Waiting: null, Action: null, Command: null } as const;

export function sentence(text: string): string {
  // The name of a host stays as it is.
  const isName = /^\S*[.:]\S/.test(text);
  const begun = isName ? text : capital(text);
  return /[.!?…]$/.test(begun) ? begun : `${begun}.`;
}
