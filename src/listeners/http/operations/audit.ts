/** GET /audit: who changed what, for operators. */
import { z } from 'zod';
import type { AuditEntry } from '../../../model/audit.ts';
import { type Answer, pageOf, time } from '../answer-schemas.ts';
import type { ApiParts } from '../deps.ts';
import { operation, withoutUndefined } from '../operation.ts';
import { paging } from '../paging.ts';
import { SINCE, text, UNTIL } from '../query.ts';
import { type ApiRoute, isoTime } from '../route.ts';

const auditEntry = z
  .object({
    AuditID: z.string(),
    Time: time,
    By: z.enum(['Person', 'Token']),
    WhoID: z.string().describe('PersonID or TokenID'),
    WhoName: z.string().describe('Email address of the person or name of the token at that time'),
    Operation: z.string().describe('`operationId` of this document'),
    Resource: z
      .string()
      .describe('Path below /api/v1 of what was made or changed, without addresses of recipients'),
    Changed: z
      .array(z.string())
      .describe(
        'Settings that were changed, as they are since: `Retention.EventDays=30`; without the value where that is no number and no word',
      ),
    IP: z.string(),
  })
  .meta({ id: 'AuditEntry' });

const PAGES = paging('audit', z.uuid(), ({ id }: { id: string }) => id);
/** Entries that one read looks at. */
const LOOK = 2_000;

export function auditOperation({ store }: ApiParts): ApiRoute {
  return operation('GET /audit', {
    id: 'listAudit',
    scope: 'admin',
    summary: 'List who changed what',
    description:
      'Requests that changed something, newest first, a page: tokens, people, domains, suppressions, templates, webhooks, holds and the like; not mail. Kept for 400 days, the last 20 000 of each tenant, up to 200 000 where they are from the last 30 days',
    query: {
      Who: text('WhoID or WhoName', 320),
      Operation: text('`operationId`', 64),
      ...SINCE,
      ...UNTIL,
      ...PAGES.query,
    },
    answer: pageOf('AuditList', auditEntry),
    handle: ({ query, request }) => {
      const { Who: who, Operation: operation, Since: since, Until: until } = query;
      return PAGES.search(request, query, toAnswer, async (beforeId, limit) => {
        const asked = withoutUndefined({ who, operation, since, until, beforeId });
        const { entries, nextId } = await store.listAudit({ ...asked, limit, look: LOOK });
        return { rows: entries, next: nextId };
      });
    },
  });
}

function toAnswer(entry: AuditEntry): Answer<typeof auditEntry> {
  return {
    AuditID: entry.id,
    Time: isoTime(entry.at),
    By: entry.byPerson ? 'Person' : 'Token',
    WhoID: entry.whoId,
    WhoName: entry.whoName,
    Operation: entry.operation,
    Resource: entry.resource,
    Changed: [...entry.changed],
    IP: entry.ip,
  };
}
