/**
 * Reading accepted mail: GET /email (list), GET /email/{MessageID} (with every recipient) and …/raw (the composed
 * bytes, without Bcc). Given the caller's domains, other people's messages are not found. Statuses are derived from
 * the recipients' rows at the time of asking.
 */
import { z } from 'zod';
import type { Clock } from '../../../lib/clock.ts';
import type { Mailbox } from '../../../model/message.ts';
import {
  MAX_METADATA_KEY_CHARS,
  MAX_METADATA_KEYS,
  MAX_METADATA_VALUE_CHARS,
} from '../../../model/metadata.ts';
import { fillPlaces } from '../../../model/personal.ts';
import {
  countWords,
  listWord,
  messageStatus,
  recipientStatus,
  STATUS_WORDS,
  type StatusWord,
} from '../../../model/status.ts';
import { suppressionKey } from '../../../model/suppression.ts';
import type { PersonalTexts } from '../../../pipeline/deliver/prepare/personal-texts.ts';
import { lineOf } from '../../../policy/access/access.ts';
import type { Store } from '../../../store/store.ts';
import type { MessageFilter, MessageView, RecipientView } from '../../../store/topics/messages.ts';
import type { CapturedReader } from '../captured-reader.ts';
import type { NamedAddress } from '../contract/answers/captures.ts';
import type {
  MessageDetail,
  MessageRecipient,
  MessageSummary,
  MessageWithContents,
} from '../contract/answers/email.ts';
import type { Page } from '../contract/answers/page.ts';
import { messageList, messageWithContents } from '../contract/schemas/email.ts';
import { MAIL_FILTERS, PAGE, text } from '../contract/schemas/query.ts';
import { gather, looksOf } from '../looks.ts';
import {
  type ApiRoute,
  invalidParameter,
  isoTime,
  isoTimeOrNull,
  json,
  METADATA_PREFIX,
  pageLimit,
  queryAddress,
  queryInteger,
  queryText,
  queryTime,
  refuse,
} from '../route.ts';
import { listedDomains, ownMessage } from '../tenancy.ts';
import type { Traffic } from './traffic.ts';
import { ITS_TURN, nextTryAt, waitReason } from './wait-words.ts';

/** Rows that may lead to a word; the exact word is compared afterwards. */
const ROWS_OF: Readonly<Record<StatusWord, Pick<MessageFilter, 'states' | 'waiting' | 'route' | 'mixed'>>> = {
  Scheduled: { states: ['queued'], waiting: 'scheduled' },
  // What is leased waits in memory until its transaction begins.
  Queued: { states: ['queued', 'sending'] },
  // Holds are in memory: any of them may be held.
  Held: { states: ['queued', 'sending'] },
  Deferred: { states: ['queued'], waiting: 'tried' },
  Sending: { states: ['sending'] },
  Delivered: { states: ['delivered'] },
  Captured: { states: ['delivered'], route: 'sandbox' },
  PartiallyDelivered: { states: ['delivered'], mixed: true },
  Bounced: { states: ['bounced'] },
  Failed: { states: ['failed', 'bounced', 'rejected', 'suppressed', 'canceled'] },
  Rejected: { states: ['rejected'] },
  Suppressed: { states: ['suppressed'] },
  Canceled: { states: ['canceled'] },
};
/** Messages that one read looks at: some ten milliseconds. */
const LOOK = 2_000;
const BY_LOWER_CASE = new Map(STATUS_WORDS.map((word) => [word.toLowerCase(), word]));

/** The three reading routes. */
export function messageRoutes(deps: {
  store: Store;
  clock: Clock;
  traffic: Pick<Traffic, 'heldBy' | 'pausedBy' | 'closedFor' | 'waits'>;
  captured: Pick<CapturedReader, 'detail'>;
  personalTexts: PersonalTexts;
}): readonly ApiRoute[] {
  const { store, clock, traffic, captured } = deps;
  return [
    {
      method: 'GET',
      path: '/email',
      scope: 'email:read',
      limitedTokens: true,
      contract: {
        id: 'listEmails',
        summary: 'List messages',
        description:
          'Messages newest first, a page. `From`, `To`, `Subject` (holds), `Tag`, `Status`, `Since`, `Until`, `Domain`, and `Metadata.<key>=<value>`, several of which must all hold. A search through very many messages may answer a page with fewer than there are: go on with its cursor',
        query: {
          ...MAIL_FILTERS,
          Status: text(`Of the message or one of its recipients: ${STATUS_WORDS.join(', ')}`),
          ...PAGE,
        },
        answer: messageList,
      },
      handle: async (request) => {
        const { query } = request;
        const limit = pageLimit(query);
        const from = queryAddress(query, 'From');
        const to = queryAddress(query, 'To');
        const subject = queryText(query, 'Subject', 998);
        const tag = queryText(query, 'Tag', 256);
        const since = queryTime(query, 'Since');
        const until = queryTime(query, 'Until');
        const status = wantedStatus(queryText(query, 'Status', 32));
        const metadata = wantedMetadata(query);
        const before = queryInteger(query, 'After', { min: 1, max: Number.MAX_SAFE_INTEGER, fallback: 0 });
        const filter = {
          ...listedDomains(request),
          ...(from === undefined ? {} : { from }),
          ...(to === undefined ? {} : { to }),
          ...(subject === undefined ? {} : { subject }),
          ...(tag === undefined ? {} : { tag }),
          ...(metadata.length === 0 ? {} : { metadata }),
          ...(since === undefined ? {} : { since }),
          ...(until === undefined ? {} : { until }),
          ...(status === undefined ? {} : ROWS_OF[status]),
          limit: limit + 1,
          look: LOOK,
        };
        const now = clock.now();
        const { rows, next } = await gather(
          looksOf(request),
          limit,
          before === 0 ? undefined : before,
          async (beforeSeq) => {
            const place = beforeSeq === undefined ? {} : { beforeSeq };
            const { messages, nextSeq } = await store.listMessages({ ...filter, ...place });
            const shown = messages.map((row) => withReasons(row, traffic, now));
            const fitting = shown.filter((row) => status === undefined || hasStatus(row, status, now));
            return { rows: fitting, next: nextSeq };
          },
          ({ seq }) => seq,
        );
        const answer: Page<MessageSummary> = {
          Items: rows.map((row) => toSummary(row, now)),
          HasMore: next !== null,
          NextCursor: next === null ? null : String(next),
        };
        return json(answer);
      },
    },
    {
      method: 'GET',
      path: '/email/:id',
      scope: 'email:read',
      limitedTokens: true,
      contract: {
        id: 'getEmail',
        summary: 'Show a message',
        description:
          'One message with every recipient: status, attempts, last reply, why it waits, when it is tried next; its contents and what is attached, as long as they are kept',
        answer: messageWithContents,
      },
      handle: async ({ caller, params }) => {
        const now = clock.now();
        const message = withReasons(await ownMessage(store, caller, params.id), traffic, now);
        const detail = toDetail(message, now);
        const bytes = await store.readContent({ messageSeq: message.seq });
        if (bytes !== null) {
          return { status: 200, body: await captured.detail(bytes, detail, 'email', lineOf(caller)) };
        }
        const gone: MessageWithContents = {
          ...detail,
          HTMLContent: null,
          PlainContent: null,
          Attachments: null,
        };
        return json(gone);
      },
    },
    {
      method: 'GET',
      path: '/email/:id/raw',
      scope: 'email:read',
      limitedTokens: true,
      contract: {
        id: 'getEmailSource',
        summary: 'Download a message',
        description:
          'The composed bytes, `message/rfc822`, before signing, without Bcc. Personal links hold zeros, unless `Recipient` names one of its recipients: then it is that one’s copy',
        query: { Recipient: text('Address of a recipient whose own links are wanted') },
        answer: z.string(),
        media: 'message/rfc822',
        errors: ['content-expired'],
      },
      handle: async ({ caller, params, query }) => {
        const message = await ownMessage(store, caller, params.id);
        const recipient = wantedRecipient(message, queryAddress(query, 'Recipient'));
        const bytes = await store.readContent({ messageSeq: message.seq });
        if (bytes === null) throw refuse('content-expired');
        const places = recipient === null ? null : await store.readPlaces({ messageSeq: message.seq });
        const body =
          recipient === null || places === null
            ? bytes
            : fillPlaces(bytes, places, deps.personalTexts(places, recipient.deliveryId));
        return { status: 200, headers: rawHeaders(message.id), body };
      },
    },
  ];
}

/** The recipient of that address, null where none is asked for. Throws AppError not-found where there is no such one. */
function wantedRecipient({ recipients }: MessageView, address: string | undefined): RecipientView | null {
  if (address === undefined) return null;
  const found =
    recipients.find((row) => row.address === address) ??
    recipients.find((row) => suppressionKey(row.address) === suppressionKey(address));
  if (found === undefined) throw refuse('not-found', 'The message has no recipient of that address');
  return found;
}

/**
 * The message with what its recipients wait for now: a hold, or what their path says of those in memory. Nothing is
 * written to their rows for it.
 */
export function withReasons(
  message: MessageView,
  traffic: Pick<Traffic, 'heldBy' | 'pausedBy' | 'closedFor' | 'waits'>,
  now: number,
): MessageView {
  const { domain: senderDomain, lane } = message;
  let changed = false;
  const recipients = message.recipients.map((row) => {
    if (row.state === 'sending') {
      // Leased and in memory, it waits like any other until its transaction begins.
      const wait = traffic.waits.waitOf(row.deliveryId);
      if (wait === null) return row;
      changed = true;
      const dueAt = Math.max(row.dueAt, now, wait.until ?? 0);
      return { ...row, state: 'queued' as const, waitReason: wait.reason, dueAt };
    }
    if (row.state !== 'queued') return row;
    changed = true;
    if (message.sandbox)
      return { ...row, waitReason: row.waitReason ?? ITS_TURN, dueAt: Math.max(row.dueAt, now) };
    const recipientDomain = row.address.slice(row.address.lastIndexOf('@') + 1);
    const mail = { senderDomain, recipientDomain, lane, routeKey: row.routeKey };
    const reason = waitReason(row.waitReason, row.dueAt <= now, mail, traffic);
    return { ...row, waitReason: reason, dueAt: nextTryAt(row.dueAt, mail, traffic, now) ?? row.expiresAt };
  });
  return changed ? { ...message, recipients } : message;
}

/** A message with its recipients, as they are at `now`. */
export function toDetail(message: MessageView, now: number): MessageDetail {
  return {
    ...toSummary(message, now),
    Recipients: message.recipients.map((row) => toRecipient(row, now)),
  };
}

/** Mail is somebody's HTML: a browser must store it, never show it. */
export function rawHeaders(name: string): Record<string, string> {
  return {
    'content-type': 'message/rfc822',
    'content-disposition': `attachment; filename="${name}.eml"`,
    'content-security-policy': "sandbox; default-src 'none'",
  };
}

/** A mailbox in the API's spelling. */
export function toNamedAddress(mailbox: Mailbox): NamedAddress {
  return { Name: mailbox.name, Email: mailbox.address };
}

/** `Metadata.<key>=<value>`, each of them must hold. The server leaves the case of such keys alone. */
function wantedMetadata(query: ReadonlyMap<string, string>): (readonly [string, string])[] {
  const wanted: (readonly [string, string])[] = [];
  for (const [name, value] of query) {
    if (!name.startsWith(METADATA_PREFIX)) continue;
    const key = name.slice(METADATA_PREFIX.length);
    if (key === '' || key.length > MAX_METADATA_KEY_CHARS || value.length > MAX_METADATA_VALUE_CHARS) {
      throw invalidParameter(
        'Metadata.<key> names a key of 1 to 64 and a value of at most 512 characters',
        'Metadata',
      );
    }
    wanted.push([key, value]);
  }
  if (wanted.length > MAX_METADATA_KEYS) {
    throw invalidParameter(`At most ${MAX_METADATA_KEYS} keys of Metadata`, 'Metadata');
  }
  return wanted;
}

function wantedStatus(word: string | undefined): StatusWord | undefined {
  if (word === undefined) return undefined;
  const status = BY_LOWER_CASE.get(word.toLowerCase());
  if (status === undefined) {
    throw invalidParameter(`Status is not known; use one of ${STATUS_WORDS.join(', ')}`, 'Status');
  }
  return status;
}

/** Every word that the list shows of it, and that its recipients show, finds it. */
function hasStatus(message: MessageView, wanted: StatusWord, now: number): boolean {
  const shown: readonly StatusWord[] = message.recipients.flatMap((row) => {
    const Status = recipientStatus(row, now);
    return [Status, listWord({ Status, Route: row.route })];
  });
  return shown.includes(wanted) || statusOf(message, now) === wanted;
}

function statusOf({ recipients }: MessageView, now: number): MessageSummary['Status'] {
  return messageStatus(recipients.map((row) => recipientStatus(row, now)));
}

function toSummary(message: MessageView, now: number): MessageSummary {
  const words = message.recipients.map((row) =>
    listWord({ Status: recipientStatus(row, now), Route: row.route }),
  );
  return {
    MessageID: message.id,
    Domain: message.domain,
    Status: statusOf(message, now),
    RecipientStatuses: countWords(words),
    From: toNamedAddress(message.lists.from),
    To: message.lists.to.map(toNamedAddress),
    CC: message.lists.cc.map(toNamedAddress),
    BCC: message.lists.bcc.map(toNamedAddress),
    ReplyTo: message.lists.replyTo.map(toNamedAddress),
    Subject: message.subject,
    Tags: message.tags,
    Metadata: message.metadata,
    Priority: message.lane,
    Sandbox: message.sandbox,
    Size: message.size,
    CreatedAt: isoTime(message.createdAt),
    SendAt: isoTimeOrNull(message.sendAt),
    ExpiresAt: isoTime(message.expiresAt),
  };
}

function toRecipient(row: RecipientView, now: number): MessageRecipient {
  const waits = row.state === 'queued';
  // Of one that is being sent the row still holds what it waited for before.
  const reason = waits || row.state === 'sending' ? row.waitReason : null;
  return {
    Email: row.address,
    Type: row.kind,
    Status: recipientStatus(row, now),
    Attempts: row.attempts,
    LastSmtpCode: row.lastCode,
    LastResponse: row.lastReply ?? '',
    // What it waited for before is told by its events.
    Class: row.state === 'delivered' ? '' : (row.lastCategory ?? ''),
    WaitReason: reason ?? '',
    // What is due at its end is not tried again.
    NextAttemptAt: waits && row.dueAt < row.expiresAt ? isoTime(row.dueAt) : null,
    ExpiresAt: isoTime(row.expiresAt),
    Route: row.route,
    UpdatedAt: isoTime(row.updatedAt),
  };
}
