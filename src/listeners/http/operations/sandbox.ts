/**
 * The sandbox inbox (api.md §3): captured copies, one per recipient, with the very bytes that would have been sent.
 * Given the caller's domains; lists, shows, hands out raw bytes and deletes. `beforeId` of the store pages newest
 * first. The HTML of a captured message is returned as JSON text only, never as a page.
 */

import { AppError } from '../../../lib/errors.ts';
import { isUuid } from '../../../lib/ids.ts';
import type { Caller } from '../../../model/submission.ts';
import type { CaptureView, Store } from '../../../store/store.ts';
import { readCapturedMail } from '../captured-mail.ts';
import type { CaptureDetail, CaptureSummary } from '../contract/answers.ts';
import {
  type ApiRoute,
  isoTime,
  json,
  page,
  pageLimit,
  queryAddress,
  queryText,
  queryTime,
  refuse,
} from '../route.ts';
import { listedDomains, ownDomains } from '../tenancy.ts';
import { rawHeaders, toNamedAddress } from './messages.ts';

/** Documented filters that need a search this version does not have. */
const UNAVAILABLE_FILTERS = ['Text', 'HasAttachment'] as const;

/** The sandbox routes. */
export function sandboxRoutes({ store }: { store: Store }): readonly ApiRoute[] {
  return [
    {
      method: 'GET',
      path: '/sandbox/messages',
      scope: 'email:read',
      handle: async (request) => {
        const { query } = request;
        for (const name of UNAVAILABLE_FILTERS) {
          if (query.has(name.toLowerCase())) throw new AppError('field-unavailable', { field: `/${name}` });
        }
        const limit = pageLimit(query);
        const filters = {
          inbox: queryText(query, 'Inbox', 320),
          from: queryAddress(query, 'From'),
          to: queryAddress(query, 'To'),
          subject: queryText(query, 'Subject', 998),
          tag: queryText(query, 'Tag', 256),
          since: queryTime(query, 'Since'),
          until: queryTime(query, 'Until'),
          beforeId: queryText(query, 'After', 64),
        };
        const rows = await store.listCaptures({
          ...listedDomains(request),
          ...withoutUndefined(filters),
          limit: limit + 1,
        });
        return json(page(rows, limit, (row) => row.id, toSummary));
      },
    },
    {
      method: 'DELETE',
      path: '/sandbox/messages',
      scope: 'email:read',
      handle: async (request) => json({ Deleted: await store.deleteCaptures(listedDomains(request)) }),
    },
    {
      method: 'GET',
      path: '/sandbox/messages/:id',
      scope: 'email:read',
      handle: async ({ caller, params }) => {
        const capture = await ownCapture(caller, params.id);
        const contents = await readCapturedMail(await capturedBytes(capture));
        const answer: CaptureDetail = { ...toSummary(capture), ...contents };
        return json(answer);
      },
    },
    {
      method: 'DELETE',
      path: '/sandbox/messages/:id',
      scope: 'email:read',
      handle: async ({ caller, params }) => {
        const capture = await ownCapture(caller, params.id);
        await store.deleteCaptures({ ids: [capture.id], ...ownDomains(caller) });
        return json({});
      },
    },
    {
      method: 'GET',
      path: '/sandbox/messages/:id/raw',
      scope: 'email:read',
      handle: async ({ caller, params }) => {
        const capture = await ownCapture(caller, params.id);
        return { status: 200, headers: rawHeaders(capture.id), body: await capturedBytes(capture) };
      },
    },
  ];

  async function ownCapture(caller: Caller, given: string | undefined): Promise<CaptureView> {
    const id = (given ?? '').toLowerCase();
    const capture = isUuid(id) ? await store.getCapture({ id, ...ownDomains(caller) }) : null;
    if (capture === null) throw refuse('not-found');
    return capture;
  }

  /** What delivery put in front, and the message's own content. Throws AppError content-expired. */
  async function capturedBytes(capture: CaptureView): Promise<Uint8Array> {
    const content = await store.readContent({ messageSeq: capture.messageSeq });
    if (content === null) throw refuse('content-expired');
    return Buffer.concat([capture.prefix, content]);
  }
}

function toSummary(capture: CaptureView): CaptureSummary {
  return {
    ID: capture.id,
    MessageID: capture.messageId,
    Inbox: capture.inbox,
    CapturedAt: isoTime(capture.at),
    EnvelopeFrom: capture.envelopeFrom,
    EnvelopeTo: capture.envelopeTo,
    From: toNamedAddress(capture.lists.from),
    To: capture.lists.to.map(toNamedAddress),
    Subject: capture.subject,
    Size: capture.size,
    Tags: capture.tags,
  };
}

type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

function withoutUndefined<T extends object>(value: T): Defined<T> {
  return Object.fromEntries(Object.entries(value).filter(([, item]) => item !== undefined)) as Defined<T>;
}
