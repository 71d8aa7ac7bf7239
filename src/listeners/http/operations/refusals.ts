/**
 * GET /refusals: what this process refused lately, over HTTP and SMTP, and why. A token of some domains sees what tokens
 * of those alone were refused; who was nobody is for tokens of all domains.
 */
import type { Refusal, Refusals } from '../../../policy/access/refusals.ts';
import type { RefusalItem, RefusalsAnswer } from '../contract/answers/operator.ts';
import { refusalsAnswer } from '../contract/schemas/operator.ts';
import { DOMAIN, PAGE } from '../contract/schemas/query.ts';
import { inOrder, memoryPage } from '../memory-page.ts';
import { type ApiRoute, isoTime, json } from '../route.ts';
import { listedDomains } from '../tenancy.ts';

/** The one route. */
export function refusalRoutes({ refusals }: { refusals: Pick<Refusals, 'list'> }): readonly ApiRoute[] {
  return [
    {
      method: 'GET',
      path: '/refusals',
      scope: 'email:read',
      limitedTokens: true,
      contract: {
        id: 'listRefusals',
        summary: 'List what was refused lately',
        description:
          'Requests and SMTP commands that this process refused lately, newest first, a page: `{RefusalID, Time, Since, Times, Via, Action, Status, Code, Name, Message, Domain, TokenID, TokenName, Peer}`. Kept in memory since its start, the last 50 of each tenant; the mail log has a line for each, but for what a flood leaves out. A repetition of the one before counts it up',
        query: { ...PAGE, ...DOMAIN },
        answer: refusalsAnswer,
      },
      handle: (request) => {
        const { domains } = listedDomains(request);
        const answer: RefusalsAnswer = memoryPage(request.query, refusals.list(domains), {
          list: 'refusals',
          keyOf: ({ seq }) => inOrder(seq),
          itemOf: toItem,
          newestFirst: true,
        });
        return json(answer);
      },
    },
  ];
}

function toItem(row: Refusal): RefusalItem {
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
