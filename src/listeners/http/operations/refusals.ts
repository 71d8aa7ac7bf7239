/**
 * GET /refusals: what this process refused recently, over HTTP and SMTP, and why. A token of some domains sees refusals
 * of tokens limited to these; refusals without a login are shown to tokens of all domains.
 */
import { z } from 'zod';
import type { Refusal } from '../../../policy/access/refusals.ts';
import { type Answer, pageOf, time } from '../answer-schemas.ts';
import type { ApiParts } from '../deps.ts';
import { operation } from '../operation.ts';
import { inOrder, memoryPaging } from '../paging.ts';
import { DOMAIN } from '../query.ts';
import { type ApiRoute, isoTime } from '../route.ts';

const refusalItem = z
  .object({
    RefusalID: z.string(),
    Time: time.describe('The last time'),
    Since: time.describe('The first time'),
    Times: z.int().min(1).describe('The same refusal so often in a row'),
    Via: z.enum(['HTTP', 'SMTP']),
    Action: z.string().describe('`POST /email`, or the command of SMTP: AUTH, MAIL, RCPT, DATA'),
    Status: z.int().describe('Of HTTP, or the code of the SMTP reply'),
    Code: z.int().nullable().describe('As in `Errors`; null for a reply of SMTP itself'),
    Name: z.string().nullable(),
    Message: z.string().describe('What was answered, at most 300 characters'),
    Domain: z.string().nullable().describe('Sender domain it was about, where that is known'),
    TokenID: z.string().nullable().describe('Of the token or SMTP credential; null = nobody was logged in'),
    TokenName: z.string().nullable(),
    Peer: z.string().describe('Address it came from'),
  })
  .meta({ id: 'Refusal' });

const PAGES = memoryPaging('refusals', ({ seq }: Refusal) => inOrder(seq), { newestFirst: true });

export function refusalOperation({ refusals }: ApiParts): ApiRoute {
  return operation('GET /refusals', {
    id: 'listRefusals',
    scope: 'email:read',
    summary: 'List what was refused lately',
    description:
      'Requests and SMTP commands that this process refused lately, newest first, a page: `{RefusalID, Time, Since, Times, Via, Action, Status, Code, Name, Message, Domain, TokenID, TokenName, Peer}`. Kept in memory since its start, the last 50 of each tenant; the mail log has a line for each, except in a flood. A repetition of the last one increases its `Times`',
    query: { ...PAGES.query, ...DOMAIN },
    answer: pageOf('RefusalsAnswer', refusalItem),
    handle: ({ query, visible }) => PAGES.pageOf(refusals.list(visible.domains), query, toItem),
  });
}

function toItem(row: Refusal): Answer<typeof refusalItem> {
  return {
    RefusalID: row.id,
    Time: isoTime(row.at),
    Since: isoTime(row.since),
    Times: row.times,
    Via: row.via,
    Action: row.action,
    Status: row.status,
    Code: row.code,
    Name: row.name,
    Message: row.message,
    Domain: row.domain,
    TokenID: row.tokenId,
    TokenName: row.tokenName,
    Peer: row.ip,
  };
}
