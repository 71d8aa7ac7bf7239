/**
 * The sandbox inbox: captured copies, one per recipient, with the very bytes that would have been sent. Given
 * the caller's domains; lists, shows, hands out raw bytes and deletes. A cursor is a place in the order of capturing.
 * What a browser is given of a captured message is somebody's: files are downloads, and the page may neither run nor load
 * anything (`captured-parts.ts`).
 */

import { z } from 'zod';
import { isUuid } from '../../../lib/ids.ts';
import type { Caller } from '../../../model/submission.ts';
import { lineOf } from '../../../policy/access/access.ts';
import type { Store } from '../../../store/store.ts';
import type { CaptureView } from '../../../store/topics/captures.ts';
import { pagePolicy } from '../captured-page.ts';
import { downloadAs } from '../captured-parts.ts';
import type { CapturedReader } from '../captured-reader.ts';
import type { CaptureSummary } from '../contract/answers/captures.ts';
import type { Page } from '../contract/answers/page.ts';
import type { InboxItem } from '../contract/answers/sandbox.ts';
import { nothing } from '../contract/schemas/problem.ts';
import { CAPTURE_FILTERS, DOMAIN, PAGE, text } from '../contract/schemas/query.ts';
import { captureDetail, captureList, capturesDeleted, inboxList } from '../contract/schemas/sandbox.ts';
import {
  type ApiRoute,
  invalidParameter,
  isoTime,
  json,
  page,
  pageLimit,
  queryCursor,
  queryFlag,
  queryText,
  refuse,
} from '../route.ts';
import { listedDomains, ownDomains } from '../tenancy.ts';
import { rawHeaders } from './messages.ts';
import { type CaptureSearch, cursorOf, isCursor, seqOf, toCaptureSummary } from './sandbox-search.ts';

/** Copies that one transaction removes: some milliseconds. */
const DELETED_AT_ONCE = 100;
const LAST = Number.MAX_SAFE_INTEGER;

/** The sandbox routes. */
export function sandboxRoutes({
  store,
  search,
  captured,
}: {
  store: Store;
  search: CaptureSearch;
  captured: CapturedReader;
}): readonly ApiRoute[] {
  return [
    {
      method: 'GET',
      path: '/sandbox/messages',
      scope: 'email:read',
      limitedTokens: true,
      contract: {
        id: 'listCaptures',
        summary: 'List captured mail',
        description:
          'Captured copies, one per recipient, newest first, a page. `Inbox`, `From`, `To`, `Subject`, `Text` (in the subject or in what can be read, links included; any case, blanks count as one; the first 65,536 characters of a mail), `Tag`, `HasAttachment`, `Seen`, `Since`, `Until`, `Domain`. A search through very many copies may answer a page with fewer than there are: go on with its cursor. A cursor stays good while mail comes and goes',
        query: { ...CAPTURE_FILTERS, ...PAGE },
        answer: captureList,
      },
      handle: async (request) => {
        const { query } = request;
        const limit = pageLimit(query);
        const before = seqOf(queryCursor(query, isCursor));
        const filters = search.filtersOf(request);
        const { found, nextSeq } = await search.newest(listedDomains(request), filters, limit, {
          beforeSeq: before,
          ended: request.ended(),
        });
        const answer: Page<CaptureSummary> = {
          Items: found.map(toCaptureSummary),
          HasMore: nextSeq !== null,
          NextCursor: cursorOf(nextSeq),
        };
        return json(answer);
      },
    },
    {
      method: 'DELETE',
      path: '/sandbox/messages',
      scope: 'email:send',
      limitedTokens: true,
      contract: {
        id: 'deleteCaptures',
        summary: 'Empty the sandbox inbox',
        description:
          'Empties the inboxes of the token’s domains, or one `Inbox`, or of one `Domain`: `{Deleted}`. Needs `email:send`: who may only look takes nothing away from others',
        query: { Inbox: text('Only this inbox'), ...DOMAIN },
        answer: capturesDeleted,
      },
      handle: async (request) => {
        // Whoever asks for one inbox and misspells the parameter would lose them all.
        const known = ['inbox', 'domain'];
        const unknown = [...request.query.keys()].find((name) => !known.includes(name));
        if (unknown !== undefined) {
          throw invalidParameter(`${unknown} does not narrow what is deleted: Inbox and Domain do`, unknown);
        }
        const inbox = queryText(request.query, 'Inbox', 320)?.toLowerCase();
        const wanted = { ...listedDomains(request), ...(inbox === undefined ? {} : { inbox }) };
        const ended = request.ended();
        let deleted = 0;
        // What comes meanwhile stays. Who is cut off asks again, and goes on with what is left.
        for (let next: number | null = LAST; next !== null && !ended.aborted; ) {
          const done: Awaited<ReturnType<Store['deleteCaptures']>> = await store.deleteCaptures({
            ...wanted,
            beforeSeq: next,
            limit: DELETED_AT_ONCE,
          });
          deleted += done.deleted;
          next = done.next;
        }
        return json({ Deleted: deleted });
      },
    },
    {
      method: 'GET',
      path: '/sandbox/inboxes',
      scope: 'email:read',
      limitedTokens: true,
      contract: {
        id: 'listInboxes',
        summary: 'List inboxes',
        description:
          'Inboxes that hold something, by name: `Inbox, Domain, Count, Unseen, LatestID, LatestAt, LatestSubject`; `Domain` filters. A copy lies in the inbox of the `+label` in its recipient’s address (`ada+run-17@example.net`: `run-17`), and without one in that of the token or SMTP credential that sent it, by its name; always in lower case',
        query: { ...DOMAIN, ...PAGE },
        answer: inboxList,
      },
      handle: async (request) => {
        const limit = pageLimit(request.query);
        const after = inboxCursor(queryText(request.query, 'After', 1024));
        const rows = await store.listInboxes({
          ...listedDomains(request),
          ...(after === undefined ? {} : { after }),
          limit: limit + 1,
        });
        const answer: Page<InboxItem> = page(
          rows,
          limit,
          ({ inbox, domain }) => Buffer.from(JSON.stringify([inbox, domain])).toString('base64url'),
          ({ inbox, domain, count, unseen, latest }) => ({
            Inbox: inbox,
            Domain: domain,
            Count: count,
            Unseen: unseen,
            LatestID: latest.id,
            LatestAt: isoTime(latest.at),
            LatestSubject: latest.subject,
          }),
        );
        return json(answer);
      },
    },
    {
      method: 'GET',
      path: '/sandbox/messages/:id',
      scope: 'email:read',
      limitedTokens: true,
      contract: {
        id: 'getCapture',
        summary: 'Show a captured message',
        description:
          'One copy, parsed: contents, headers, attachments, links, runs of digits that look like codes',
        answer: captureDetail,
        errors: ['content-expired'],
      },
      handle: async ({ caller, params }) => {
        const capture = await ownCapture(caller, params.id);
        return { status: 200, body: await search.detailOf(capture, lineOf(caller)) };
      },
    },
    {
      method: 'DELETE',
      path: '/sandbox/messages/:id',
      scope: 'email:send',
      limitedTokens: true,
      contract: {
        id: 'deleteCapture',
        summary: 'Remove a captured message',
        description: 'Removes one copy: `{}`',
        answer: nothing,
      },
      handle: async ({ caller, params }) => {
        const capture = await ownCapture(caller, params.id);
        await store.deleteCaptures({ ids: [capture.id], ...ownDomains(caller), limit: 1 });
        return json({});
      },
    },
    {
      method: 'GET',
      path: '/sandbox/messages/:id/raw',
      scope: 'email:read',
      limitedTokens: true,
      contract: {
        id: 'getCaptureSource',
        summary: 'Download a captured message',
        description: 'The very bytes that would have been sent, signed where the domain has a key',
        answer: z.string(),
        media: 'message/rfc822',
        errors: ['content-expired'],
      },
      handle: async ({ caller, params }) => {
        const capture = await ownCapture(caller, params.id);
        return { status: 200, headers: rawHeaders(capture.id), body: await search.bytesOf(capture) };
      },
    },
    {
      method: 'GET',
      path: '/sandbox/messages/:id/html',
      scope: 'email:read',
      limitedTokens: true,
      contract: {
        id: 'getCapturePage',
        summary: 'Show a captured message as a page',
        description:
          'One copy as a page for a browser: its HTML with the pictures it brought, or its text. Its policy lets it run nothing and load nothing; what it names elsewhere stays empty, and links that could run something are none. Only a page of the same origin may show it in a frame. To show it from a string, use `<iframe sandbox srcdoc>`: the page carries its policy along. With `RemoteImages=true` pictures are loaded from where the mail says, which tells its sender that it was opened',
        query: { RemoteImages: z.boolean().default(false).describe('Load pictures from elsewhere') },
        answer: z.string(),
        media: 'text/html',
        errors: ['content-expired'],
      },
      handle: async ({ caller, params, query }) => {
        const capture = await ownCapture(caller, params.id);
        const images = queryFlag(query, 'RemoteImages') ?? false;
        const page = await captured.page(await search.bytesOf(capture), lineOf(caller), images);
        if (page === null)
          throw refuse('not-found', 'The message is not readable as MIME; use its raw bytes');
        return {
          status: 200,
          headers: {
            'content-type': 'text/html; charset=utf-8',
            'content-security-policy': pagePolicy(images),
            'referrer-policy': 'no-referrer',
            'x-dns-prefetch-control': 'off',
            'cross-origin-resource-policy': 'same-origin',
          },
          body: page,
        };
      },
    },
    {
      method: 'GET',
      path: '/sandbox/messages/:id/attachments/:place',
      scope: 'email:read',
      limitedTokens: true,
      contract: {
        id: 'getCaptureAttachment',
        summary: 'Download a file of a captured message',
        description: 'One file of a copy, as a download: `place` is where it stands in `Attachments`, from 0',
        answer: z.string(),
        media: '*/*',
        errors: ['content-expired'],
      },
      handle: async ({ caller, params }) => {
        const capture = await ownCapture(caller, params.id);
        const place = /^[0-9]{1,4}$/.test(params.place ?? '') ? Number(params.place) : null;
        const file =
          place === null ? null : await captured.file(await search.bytesOf(capture), place, lineOf(caller));
        if (file === null)
          throw refuse('not-found', 'Attachments are numbered from 0, in the order of the list');
        return {
          status: 200,
          headers: {
            'content-type': file.type,
            'content-disposition': downloadAs(file.filename),
            'content-security-policy': "sandbox; default-src 'none'",
            'cross-origin-resource-policy': 'same-origin',
          },
          body: file.content,
        };
      },
    },
  ];

  async function ownCapture(caller: Caller, given: string | undefined): Promise<CaptureView> {
    const id = (given ?? '').toLowerCase();
    const capture = isUuid(id) ? await store.getCapture({ id, ...ownDomains(caller) }) : null;
    if (capture === null) throw refuse('not-found');
    return capture;
  }
}

/** The place behind an inbox, as `NextCursor` gave it. Throws AppError invalid-parameter. */
function inboxCursor(text: string | undefined): { inbox: string; domain: string } | undefined {
  if (text === undefined) return undefined;
  const parts = z
    .tuple([z.string(), z.string()])
    .safeParse(parsed(Buffer.from(text, 'base64url').toString()));
  if (!parts.success) throw invalidParameter('After is not a NextCursor of this list', 'After');
  const [inbox, domain] = parts.data;
  return { inbox, domain };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
