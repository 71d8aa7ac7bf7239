/**
 * Reading accepted mail: GET /email (list), GET /email/{MessageID} (with every recipient) and …/raw (the composed
 * bytes, without Bcc). Messages of other tenants are not found. Statuses are derived from the recipients' rows at the
 * time of the request.
 */

import { z } from 'zod';
import { domainOfAddress } from '../../../mail/address-text.ts';
import {
  MAX_METADATA_KEY_CHARS,
  MAX_METADATA_KEYS,
  MAX_METADATA_VALUE_CHARS,
} from '../../../model/metadata.ts';
import { fillSlots } from '../../../model/personal.ts';
import {
  countWords,
  LIST_WORDS,
  listWord,
  MESSAGE_STATUSES,
  messageStatus,
  RECIPIENT_STATUSES,
  recipientStatus,
  STATUS_WORDS,
  type StatusWord,
  wordsOf,
} from '../../../model/status.ts';
import type { Caller, KeptFields } from '../../../model/submission.ts';
import { suppressionKey } from '../../../model/suppression.ts';
import { sharersOf } from '../../../policy/access/rights.ts';
import type { MessageFilter, MessageView, RecipientView } from '../../../store/topics/messages.ts';
import {
  type Answer,
  attachmentFacts,
  count,
  messageId,
  metadata,
  namedAddress,
  pageOf,
  priority,
  route,
  time,
  toNamedAddress,
} from '../answer-schemas.ts';
import type { ApiParts } from '../deps.ts';
import { operation, rawOperation, withoutUndefined } from '../operation.ts';
import { paging } from '../paging.ts';
import { address, domainName, integer, MAIL_FILTERS, word } from '../query.ts';
import {
  type ApiRoute,
  invalidParameter,
  isoTime,
  isoTimeOrNull,
  METADATA_PREFIX,
  refuse,
} from '../route.ts';
import { ownMessage } from '../tenancy.ts';
import type { Traffic } from './traffic.ts';
import { ITS_TURN, nextTryAt, waitReason } from './wait-words.ts';

const counts = Object.fromEntries(
  Object.entries(LIST_WORDS).map(([word, meaning]) => [word, count.optional().describe(meaning)]),
) as Record<keyof typeof LIST_WORDS, ReturnType<typeof count.optional>>;

const recipientStatuses = z.object(counts).meta({
  id: 'RecipientStatuses',
  description: 'How many recipients there are of each word; a word that none has is left out',
});

const members = {
  MessageID: messageId,
  Domain: z.string().describe('Sender domain it was accepted for'),
  Status: z
    .enum(wordsOf(MESSAGE_STATUSES))
    .describe(
      'Of the whole message: follows from its recipients by the first rule of the reference that fits',
    ),
  RecipientStatuses: recipientStatuses,
  From: namedAddress,
  To: z.array(namedAddress),
  CC: z.array(namedAddress),
  BCC: z.array(namedAddress).describe('Shown to the sender’s own tokens only, here'),
  ReplyTo: z.array(namedAddress),
  Subject: z.string(),
  Tags: z.array(z.string()),
  Metadata: metadata,
  Priority: priority,
  Sandbox: z.boolean().describe('It never leaves the machine'),
  Size: count.describe('Octets of the composed message'),
  CreatedAt: time,
  SendAt: time.nullable().describe('When it was asked to go; null = at once'),
  ExpiresAt: time.describe('When it is given up'),
};

// A kept field (model/submission.ts) that is not shown does not compile; the error shows the text. Priority is the lane.
type Shown = keyof typeof members | 'Lane';
({}) satisfies Record<
  Exclude<Capitalize<keyof KeptFields>, Shown>,
  'show it in src/listeners/http/operations/messages.ts'
>;

const messageSummary = z.object(members).meta({ id: 'MessageSummary' });

const messageRecipient = z
  .object({
    Email: z.string(),
    Type: z.enum(['To', 'CC', 'BCC']),
    Status: z.enum(wordsOf(RECIPIENT_STATUSES)),
    Attempts: count,
    LastSmtpCode: z.int().describe('0 where no SMTP reply was received'),
    LastResponse: z.string(),
    Class: z.string().describe('Category of the last failure; empty = none'),
    WaitReason: z
      .string()
      .describe(
        'Why it waits; while it is being sent, to which server, for how long and which reply is awaited; empty = neither',
      ),
    NextAttemptAt: time.nullable(),
    ExpiresAt: time,
    Route: route.nullable().describe('How it was delivered'),
    PossibleDuplicate: z.boolean().describe('Delivered, and an earlier attempt may have been taken too'),
    CauseID: z
      .int()
      .nullable()
      .describe(
        'Of `GET /causes`: what others failed for too; null = nobody did, or the token is not of all domains',
      ),
    UpdatedAt: time,
  })
  .meta({ id: 'MessageRecipient' });

export const messageDetail = z
  .object({ ...members, Recipients: z.array(messageRecipient) })
  .meta({ id: 'MessageDetail' });

const messageWithContents = z
  .object({
    ...members,
    Recipients: z.array(messageRecipient),
    HTMLContent: z.string().nullable().describe('Null: none, no longer kept, or too long to read'),
    PlainContent: z.string().nullable().describe('Null: none, no longer kept, or too long to read'),
    Attachments: z.array(attachmentFacts).nullable().describe('Null: no longer kept, or too long to read'),
  })
  .meta({ id: 'MessageWithContents' });

type MessageSummary = Answer<typeof messageSummary>;

/** Rows that may have a status; the exact status is compared afterwards. */
const ROWS_OF: Readonly<Record<StatusWord, Pick<MessageFilter, 'states' | 'waiting' | 'route' | 'mixed'>>> = {
  Scheduled: { states: ['queued'], waiting: 'scheduled' },
  // Leased mail waits in memory until its transaction begins.
  Queued: { states: ['queued', 'sending'] },
  // Holds are in memory: any of these rows may be held.
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
const PAGES = paging('emails', z.int().min(1), ({ seq }: { seq: number }) => seq);

export function messageOperations(deps: ApiParts): readonly ApiRoute[] {
  const { store, clock, traffic, captured } = deps;
  return [
    operation('GET /email', {
      id: 'listEmails',
      scope: 'email:read',
      summary: 'List messages',
      description:
        'Messages newest first, a page. `From`, `To`, `RecipientDomain`, `Subject` (contains), `Tag`, `Status`, `Cause`, `Since`, `Until`, `Domain`, and `Metadata.<key>=<value>`, all of which must match. With `To` or `RecipientDomain`, `Status` is that of these recipients alone: `RecipientDomain=example.net&Status=Queued` finds what waits for one domain. A search through very many messages may return a page with fewer matches: continue with its cursor',
      query: {
        ...MAIL_FILTERS,
        RecipientDomain: domainName('Domain of a recipient’s address'),
        Status: word(STATUS_WORDS, `is not known; use one of ${STATUS_WORDS.join(', ')}`)
          .optional()
          .describe('Of the message or one of its recipients'),
        Cause: integer(1, Number.MAX_SAFE_INTEGER)
          .optional()
          .describe('A recipient failed or waits for this cause (`CauseID`)'),
        ...PAGES.query,
      },
      namesAfter: METADATA_PREFIX,
      answer: pageOf('MessageList', messageSummary),
      handle: ({ query, visible, request }) => {
        const { Status: status } = query;
        const metadata = wantedMetadata(request.query);
        const filter = {
          ...visible,
          ...withoutUndefined({
            from: query.From,
            to: query.To,
            recipientDomain: query.RecipientDomain,
            subject: query.Subject,
            tag: query.Tag,
            cause: query.Cause,
            since: query.Since,
            until: query.Until,
          }),
          ...(metadata.length === 0 ? {} : { metadata }),
          ...(status === undefined ? {} : ROWS_OF[status]),
          look: LOOK,
        };
        const now = clock.now();
        return PAGES.search(request, query, itemOf, async (beforeSeq, limit) => {
          const place = { ...withoutUndefined({ beforeSeq }), limit };
          const { messages, nextSeq } = await store.listMessages({ ...filter, ...place });
          const fitting = messages
            .map((row) => withReasons(row, traffic, now))
            .filter((row) => status === undefined || hasStatus(wantedOf(row, filter), status, now));
          return {
            rows: fitting.map((row) => ({ seq: row.seq, item: toSummary(row, now) })),
            next: nextSeq,
          };
        });
      },
    }),
    operation('GET /email/:id', {
      id: 'getEmail',
      scope: 'email:read',
      summary: 'Show a message',
      description:
        'One message with every recipient: status, attempts, last reply, why it waits, when it is tried next; its contents and what is attached, as long as they are kept',
      answer: messageWithContents,
      handle: async ({ caller, params }) => {
        const now = clock.now();
        const message = withReasons(await ownMessage(store, caller, params.id), traffic, now);
        const detail = toDetail(message, caller, now);
        const bytes = await store.readContent({ messageSeq: message.seq });
        if (bytes !== null) return captured.detail(bytes, detail, 'email', sharersOf(caller));
        return { ...detail, HTMLContent: null, PlainContent: null, Attachments: null };
      },
    }),
    rawOperation('GET /email/:id/raw', {
      id: 'getEmailSource',
      scope: 'email:read',
      summary: 'Download a message',
      description:
        'The composed bytes, `message/rfc822`, before signing, without Bcc. Personal links contain zeros, unless `Recipient` names a recipient: then the answer is the copy of that recipient',
      query: { Recipient: address('Address of a recipient whose own links are wanted') },
      answer: z.string(),
      media: 'message/rfc822',
      errors: ['content-expired'],
      handle: async ({ caller, params, query }) => {
        const message = await ownMessage(store, caller, params.id);
        const recipient = wantedRecipient(message, query.Recipient);
        const bytes = await store.readContent({ messageSeq: message.seq });
        if (bytes === null) throw refuse('content-expired');
        const places = recipient === null ? null : await store.readTokenSlots({ messageSeq: message.seq });
        const body =
          recipient === null || places === null
            ? bytes
            : fillSlots(bytes, places, deps.personalTexts(places, recipient.deliveryId));
        return { status: 200, headers: rawHeaders(message.id), body };
      },
    }),
  ];
}

/** The recipient with this address, null if none was requested. Throws AppError not-found if there is none. */
function wantedRecipient({ recipients }: MessageView, address: string | undefined): RecipientView | null {
  if (address === undefined) return null;
  const found =
    recipients.find((row) => row.address === address) ??
    recipients.find((row) => suppressionKey(row.address) === suppressionKey(address));
  if (found === undefined) throw refuse('not-found', 'The message has no recipient of that address');
  return found;
}

/**
 * The message with what its recipients wait for now: a hold, the reason of their path for those in memory, or the reply
 * of a server. Nothing is written to their rows.
 */
function withReasons(
  message: MessageView,
  traffic: Pick<Traffic, 'heldBy' | 'pausedBy' | 'blockedFor' | 'waits'>,
  now: number,
): MessageView {
  const { domain: senderDomain, lane } = message;
  let changed = false;
  const recipients = message.recipients.map((row) => {
    if (row.state === 'sending') {
      // Leased and in memory, it waits like any other until its transaction begins.
      const wait = traffic.waits.waitOf(row.deliveryId);
      changed = true;
      // Its row still has the reason of an earlier wait.
      if (wait === null) return { ...row, waitReason: traffic.waits.sendingOf(row.deliveryId) };
      const dueAt = Math.max(row.dueAt, now, wait.until ?? 0);
      return { ...row, state: 'queued' as const, waitReason: wait.reason, dueAt };
    }
    if (row.state !== 'queued') return row;
    changed = true;
    if (message.sandbox)
      return { ...row, waitReason: row.waitReason ?? ITS_TURN, dueAt: Math.max(row.dueAt, now) };
    const recipientDomain = domainOfAddress(row.address);
    const mail = { senderDomain, recipientDomain, lane, routeKey: row.routeKey };
    const reason = waitReason(row.waitReason, row.dueAt <= now, mail, traffic);
    return { ...row, waitReason: reason, dueAt: nextTryAt(row.dueAt, mail, traffic, now) ?? row.expiresAt };
  });
  return changed ? { ...message, recipients } : message;
}

/** A message with its recipients, as they are at `now`. */
export function toDetail(message: MessageView, caller: Caller, now: number): Answer<typeof messageDetail> {
  // Causes are shared by all sender domains, so they are shown only to callers that may see all of them.
  const showCauses = caller.domains.includes('*');
  return {
    ...toSummary(message, now),
    Recipients: message.recipients.map((row) => toRecipient(row, now, showCauses)),
  };
}

/** The content is untrusted HTML: a browser must store it, never show it. */
export function rawHeaders(name: string): Record<string, string> {
  return {
    'content-type': 'message/rfc822',
    'content-disposition': `attachment; filename="${name}.eml"`,
    'content-security-policy': "sandbox; default-src 'none'",
  };
}

/** `Metadata.<key>=<value>`, all of which must match. The server keeps the case of such keys. */
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

/** An item of a page, which is made where it is found: the whole may have a hundred thousand recipients. */
function itemOf({ item }: { seq: number; item: MessageSummary }): MessageSummary {
  return item;
}

/** The message with those recipients alone that the filter asks for. */
function wantedOf(
  message: MessageView,
  { to, recipientDomain }: Pick<MessageFilter, 'to' | 'recipientDomain'>,
): MessageView {
  if (to === undefined && recipientDomain === undefined) return message;
  const recipients = message.recipients.filter(
    ({ address }) =>
      (to === undefined || address.toLowerCase() === to.toLowerCase()) &&
      (recipientDomain === undefined || domainOfAddress(address) === recipientDomain),
  );
  return { ...message, recipients };
}

/** Every status shown for a message or its recipients finds it. */
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

function toRecipient(row: RecipientView, now: number, showCauses: boolean): Answer<typeof messageRecipient> {
  const waits = row.state === 'queued';
  const reason = waits || row.state === 'sending' ? row.waitReason : null;
  return {
    Email: row.address,
    Type: row.kind,
    Status: recipientStatus(row, now),
    Attempts: row.attempts,
    LastSmtpCode: row.lastCode,
    LastResponse: row.lastReply ?? '',
    // Its events show what it waited for before.
    Class: row.state === 'delivered' ? '' : (row.lastCategory ?? ''),
    WaitReason: reason ?? '',
    // A row that is due at its expiry is not tried again.
    NextAttemptAt: waits && row.dueAt < row.expiresAt ? isoTime(row.dueAt) : null,
    ExpiresAt: isoTime(row.expiresAt),
    Route: row.route,
    PossibleDuplicate: row.state === 'delivered' && row.mayBeDuplicate,
    CauseID: showCauses ? row.causeId : null,
    UpdatedAt: isoTime(row.updatedAt),
  };
}
