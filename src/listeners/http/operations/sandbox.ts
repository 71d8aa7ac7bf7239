/**
 * Captured mail: copies, one per recipient, with the exact bytes that would have been sent: listing, showing, raw
 * bytes, deleting. A cursor is a position in the order of capturing. The content is untrusted: files are downloads, and
 * the page may neither run nor load anything (`captured-parts.ts`).
 */

import { z } from 'zod';
import { isUuid } from '../../../lib/ids.ts';
import type { SpamReport } from '../../../model/spam.ts';
import type { Caller } from '../../../model/submission.ts';
import { lineOf, sharersOf } from '../../../policy/access/rights.ts';
import type { Store } from '../../../store/store.ts';
import type { CaptureView, InboxView } from '../../../store/topics/captures.ts';
import { count, nothing, pageOf, time } from '../answer-schemas.ts';
import type { ApiParts } from '../deps.ts';
import { operation, rawOperation, withoutUndefined } from '../operation.ts';
import { pages, paging } from '../paging.ts';
import { DOMAIN, text } from '../query.ts';
import { type ApiRoute, existing, isoTime } from '../route.ts';
import { captureDetail, captureSummary, capturesDeleted } from '../sandbox/captures.ts';
import { fileAnswer, PAGE_QUERY, pageAnswer } from '../sandbox/mail-parts.ts';
import { CAPTURE_FILTERS, toCaptureSummary } from '../sandbox/sandbox-search.ts';
import { ownDomains } from '../tenancy.ts';
import { rawHeaders } from './messages.ts';

const inboxItem = z
  .object({
    Inbox: z.string().describe('Empty for mail whose sender has no name'),
    Domain: z.string(),
    Count: count,
    Unseen: count.describe('Of those nobody has marked as seen'),
    LatestID: z.uuid(),
    LatestAt: time,
    LatestSubject: z.string(),
  })
  .meta({ id: 'Inbox' });

const spamAnswer = z
  .object({
    Why: z.string().nullable().describe('It was not asked or did not answer; null = it did'),
    Points: z.number().nullable(),
    Required: z.number().nullable().describe('From so many points on, mail counts as spam'),
    Rules: z.array(z.object({ Name: z.string(), Points: z.number(), Description: z.string() })),
  })
  .meta({ id: 'SpamReport' });

/** Copies that one transaction removes: some milliseconds. */
const DELETED_AT_ONCE = 100;
const LAST = Number.MAX_SAFE_INTEGER;
const PAGES = pages('captures', z.int().min(0));
const INBOX = z.object({ inbox: z.string(), domain: z.string() });
const INBOX_PAGES = paging('inboxes', INBOX, ({ inbox, domain }: InboxView) => ({ inbox, domain }));

export function sandboxOperations({
  store,
  search,
  captured,
  checkSpam = null,
}: ApiParts): readonly ApiRoute[] {
  return [
    operation('GET /sandbox/messages', {
      id: 'listCaptures',
      scope: 'email:read',
      summary: 'List captured mail',
      description:
        'Captured copies, one per recipient, newest first, a page. `Inbox`, `From`, `To`, `Subject`, `Text` (in the subject, the visible text or the links; case and repeated blanks are ignored; the first 65,536 characters of a mail), `Tag`, `HasAttachment`, `Seen`, `Since`, `Until`, `Domain`. A search through very many copies may return a page with fewer matches: continue with its cursor. A cursor stays valid when mail arrives or is removed',
      query: { ...CAPTURE_FILTERS, ...PAGES.query },
      answer: pageOf('CaptureList', captureSummary),
      handle: async ({ caller, query, visible, request }) => {
        const filters = search.filtersOf(query, caller);
        const { found, nextSeq } = await search.newest(visible, filters, query.Limit, {
          beforeSeq: query.After,
          ended: request.ended(),
        });
        return PAGES.page(found.map(toCaptureSummary), nextSeq);
      },
    }),
    operation('DELETE /sandbox/messages', {
      id: 'deleteCaptures',
      scope: 'email:send',
      summary: 'Empty the sandbox inbox',
      description:
        'Empties the inboxes of the token’s domains, or one `Inbox`, or of one `Domain`: `{Deleted}`. Needs `email:send`, so that a token that can only read cannot delete mail',
      query: { Inbox: text('Only this inbox', 320), ...DOMAIN },
      answer: capturesDeleted,
      handle: async ({ query, visible, request }) => {
        const wanted = { ...visible, ...withoutUndefined({ inbox: query.Inbox?.toLowerCase() }) };
        const ended = request.ended();
        let deleted = 0;
        // Captures that arrive meanwhile stay. After an interruption, a repetition continues with the rest.
        for (let next: number | null = LAST; next !== null && !ended.aborted; ) {
          const done: Awaited<ReturnType<Store['deleteCaptures']>> = await store.deleteCaptures({
            ...wanted,
            beforeSeq: next,
            limit: DELETED_AT_ONCE,
          });
          deleted += done.deleted;
          next = done.next;
        }
        return { Deleted: deleted };
      },
    }),
    operation('GET /sandbox/inboxes', {
      id: 'listInboxes',
      scope: 'email:read',
      summary: 'List inboxes',
      description:
        'Inboxes that contain mail, by name: `Inbox, Domain, Count, Unseen, LatestID, LatestAt, LatestSubject`; `Domain` filters. A copy is in the inbox of the `+label` in its recipient’s address (`ada+run-17@example.net`: `run-17`), or without a label in the inbox with the name of the token or SMTP credential that sent it; mail by SMTP without a login of this server is in `smtp`. Names are in lower case',
      query: { ...DOMAIN, ...INBOX_PAGES.query },
      answer: pageOf('InboxList', inboxItem),
      handle: async ({ query, visible }) => {
        const rows = await store.listInboxes({
          ...visible,
          ...withoutUndefined({ after: query.After }),
          limit: query.Limit + 1,
        });
        return INBOX_PAGES.pageOf(rows, query, ({ inbox, domain, count, unseen, latest }) => ({
          Inbox: inbox,
          Domain: domain,
          Count: count,
          Unseen: unseen,
          LatestID: latest.id,
          LatestAt: isoTime(latest.at),
          LatestSubject: latest.subject,
        }));
      },
    }),
    operation('GET /sandbox/messages/:id', {
      id: 'getCapture',
      scope: 'email:read',
      summary: 'Show a captured message',
      description:
        'One copy, parsed: contents, headers, attachments, links, runs of digits that look like codes',
      answer: captureDetail,
      errors: ['content-expired'],
      handle: async ({ caller, params }) => {
        const capture = await ownCapture(caller, params.id);
        return search.detailOf(capture, sharersOf(caller));
      },
    }),
    operation('DELETE /sandbox/messages/:id', {
      id: 'deleteCapture',
      scope: 'email:send',
      summary: 'Remove a captured message',
      description: 'Removes one copy: `{}`',
      answer: nothing,
      handle: async ({ caller, params }) => {
        const capture = await ownCapture(caller, params.id);
        await store.deleteCaptures({ ids: [capture.id], ...ownDomains(caller), limit: 1 });
        return {};
      },
    }),
    rawOperation('GET /sandbox/messages/:id/raw', {
      id: 'getCaptureSource',
      scope: 'email:read',
      summary: 'Download a captured message',
      description: 'The exact bytes that would have been sent, signed where the domain has a key',
      answer: z.string(),
      media: 'message/rfc822',
      errors: ['content-expired'],
      handle: async ({ caller, params }) => {
        const capture = await ownCapture(caller, params.id);
        return { status: 200, headers: rawHeaders(capture.id), body: await search.bytesOf(capture) };
      },
    }),
    rawOperation('GET /sandbox/messages/:id/html', {
      id: 'getCapturePage',
      scope: 'email:read',
      summary: 'Show a captured message as a page',
      description:
        'One copy as a page for a browser: its HTML with the pictures it brought, or its text. Its content security policy forbids scripts and loading; external resources stay empty, and links that could run code are removed. Only a page of the same origin may show it in a frame. To show it from a string, use `<iframe sandbox srcdoc>`: the page contains its policy. With `RemoteImages=true` pictures are loaded from the addresses in the mail, so its sender learns that it was opened',
      query: PAGE_QUERY,
      answer: z.string(),
      media: 'text/html',
      errors: ['content-expired'],
      handle: async ({ caller, params, query }) => {
        const capture = await ownCapture(caller, params.id);
        return pageAnswer(captured, await search.bytesOf(capture), sharersOf(caller), query.RemoteImages);
      },
    }),
    operation('GET /sandbox/messages/:id/spam', {
      id: 'getCaptureSpam',
      scope: 'email:read',
      summary: 'Ask SpamAssassin about a captured message',
      description:
        'What the SpamAssassin of the operator (`spamassassin`) says of one copy, within 20 seconds: the score and the rules that matched, the highest first. If it was not asked or did not answer, `Why` says why',
      answer: spamAnswer,
      errors: ['content-expired'],
      handle: async ({ caller, params }) => {
        const capture = await ownCapture(caller, params.id);
        const report: SpamReport =
          checkSpam === null
            ? { kind: 'not-checked', why: 'SpamAssassin is not configured on this server (spamassassin)' }
            : await checkSpam(await search.bytesOf(capture), lineOf(caller));
        if (report.kind === 'not-checked')
          return { Why: report.why, Points: null, Required: null, Rules: [] };
        const Rules = report.rules
          .toSorted((a, b) => b.points - a.points)
          .map(({ name, points, description }) => ({ Name: name, Points: points, Description: description }));
        return { Why: null, Points: report.points, Required: report.required, Rules };
      },
    }),
    rawOperation('GET /sandbox/messages/:id/attachments/:place', {
      id: 'getCaptureAttachment',
      scope: 'email:read',
      summary: 'Download a file of a captured message',
      description: 'One file of a copy, as a download: `place` is its index in `Attachments`, from 0',
      answer: z.string(),
      media: '*/*',
      errors: ['content-expired'],
      handle: async ({ caller, params }) => {
        const capture = await ownCapture(caller, params.id);
        return fileAnswer(captured, () => search.bytesOf(capture), sharersOf(caller), params.place);
      },
    }),
  ];

  async function ownCapture(caller: Caller, given: string): Promise<CaptureView> {
    const id = given.toLowerCase();
    return existing(isUuid(id) && (await store.getCapture({ id, ...ownDomains(caller) })));
  }
}
