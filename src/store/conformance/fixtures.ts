/**
 * Data for the conformance suite: small valid messages, recipients, events, webhooks and tokens with every field open
 * to change, ids that never repeat, and the object through which each part uses the store.
 */
import type { EventKind } from '../../model/event.ts';
import type { MessageId } from '../../model/message.ts';
import { KEPT_FIELDS, type KeptFields, keptFields, SUBMISSION_DEFAULTS } from '../../model/submission.ts';
import type { Suppression } from '../../model/suppression.ts';
import type { Token } from '../../model/token.ts';
import type { Store } from '../store.ts';
import type { CommitResult, IdempotencyEntry, NewMessage, NewRecipient } from '../topics/acceptance.ts';
import type { ElsewherePlace } from '../topics/erasing.ts';
import type { NewEvent } from '../topics/events.ts';
import type { MessageFilter, MessageView } from '../topics/messages.ts';
import type { Settlement } from '../topics/queue.ts';
import type { SuppressionSignal } from '../topics/suppressions.ts';
import type { NewWebhook } from '../topics/webhooks.ts';

/** An engine under test, with its own data. */
export interface OpenedStore {
  store: Store;
  /** Closes the store and opens the same data again. */
  reopen(): Promise<Store>;
  /** Opens another store over the same data, if the engine can be shared. */
  openAnother(): Promise<Store>;
  /** Closes the stores and removes their data. */
  close(): Promise<void>;
}

/** An engine under test over the data that `open` opens; `remove`: removes them at the end. */
export async function openedBy(open: () => Promise<Store>, remove = () => {}): Promise<OpenedStore> {
  let store = await open();
  const others: Store[] = [];
  return {
    store,
    async reopen() {
      await store.close();
      store = await open();
      return store;
    },
    async openAnother() {
      const other = await open();
      others.push(other);
      return other;
    },
    async close() {
      await Promise.all([store, ...others].map((one) => one.close()));
      remove();
    },
  };
}

/** What each test gets. */
export interface Suite {
  /** The store of the running test; after `reopen` the one that was opened then. */
  store: Store;
  reopen(): Promise<void>;
  /** A second store over the data of the running test. */
  openAnother(): Promise<Store>;
}

/** A time well inside the range of dates. */
export const T0 = 1_790_000_000_000;
export const HOUR = 3_600_000;

let lastId = 0;

/** A new UUID in canonical text, each greater than the one before. */
export function newId(): string {
  lastId += 1;
  return `01990000-0000-7000-8000-${String(lastId).padStart(12, '0')}`;
}

/** An event of a kind without detail. */
export function event(kind: EventKind, at = T0, more: Partial<NewEvent> = {}): NewEvent {
  return { id: newId(), kind, at, detail: null, ...more };
}

/** The signal of a refusal for an address that does not exist: enough to suppress it. */
export function signal(more: Partial<SuppressionSignal> = {}): SuppressionSignal {
  return {
    reason: 'Bounce',
    expiresAt: null,
    reply: '550 5.1.1 No such user',
    rule: 'G09',
    needs: null,
    event: event('suppression_added'),
    ...more,
  };
}

/** A queued recipient, due at T0, with its accepted event. */
export function recipient(more: Partial<NewRecipient> = {}): NewRecipient {
  return {
    address: 'reader@example.net',
    domain: 'example.net',
    kind: 'To',
    state: 'queued',
    dueAt: T0,
    waitReason: null,
    sandbox: null,
    events: [event('accepted')],
    ...more,
  };
}

/** A message with one queued recipient. */
export function message(more: Partial<NewMessage> = {}): NewMessage {
  return {
    id: newId() as MessageId,
    domain: 'example.com',
    tokenId: newId(),
    ...keptFields({ ...SUBMISSION_DEFAULTS, subject: 'Hello' }),
    lists: {
      from: { name: 'Sender', address: 'sender@example.com' },
      to: [{ name: 'Reader', address: 'reader@example.net' }],
      cc: [],
      bcc: [],
      replyTo: [],
    },
    sandbox: false,
    content: new TextEncoder().encode('Subject: Hello\r\n\r\nHello\r\n'),
    bodyOffset: 18,
    needsSmtpUtf8: false,
    eightBit: false,
    createdAt: T0,
    expiresAt: T0 + HOUR,
    expiryGiven: false,
    dateOffset: null,
    recipients: [recipient()],
    ...more,
  };
}

/** A value for each kept field, with `text` in those that hold texts. */
export function keptSamples(text: string): KeptFields {
  const samples = {
    lane: 'bulk',
    text,
    texts: ['a', text],
    record: { one: text },
    instant: T0 + 7,
    flag: true,
  };
  return Object.fromEntries(
    Object.entries(KEPT_FIELDS).map(([member, form]) => [member, samples[form]]),
  ) as unknown as KeptFields;
}

/** An idempotency row. */
export function idempotency(more: Partial<IdempotencyEntry> = {}): IdempotencyEntry {
  return {
    owner: 'project-1',
    operation: 'POST /email',
    key: 'order-1',
    fingerprint: new Uint8Array(32).fill(1),
    status: 200,
    body: '{"MessageID":"m"}',
    createdAt: T0,
    expiresBefore: T0 - 24 * HOUR,
    ...more,
  };
}

/** A commit that is expected to work: seqs, delivery and queue ids. */
export async function commit(store: Store, messages: readonly NewMessage[], epoch = 1) {
  const result = await store.commitAccepted({ messages, epoch, idempotency: null });
  return committed(result);
}

/** The rows of a commit, which must not be a replay. */
export function committed(result: CommitResult) {
  if (result.kind !== 'committed') throw new Error(`Expected a commit, got ${result.kind}`);
  return result.messages;
}

/** Commits one message with one recipient; its ids. */
export async function commitOne(store: Store, more: Partial<NewMessage> = {}, epoch = 1) {
  const { seq, deliveries } = only(await commit(store, [message(more)], epoch));
  return { seq, ...only(deliveries) };
}

/** The one element of a list. */
export function only<Item>(items: readonly Item[]): Item {
  const [first] = items;
  if (first === undefined || items.length !== 1) throw new Error(`Expected one item, got ${items.length}`);
  return first;
}

/** A delivered outcome with its event. */
export function delivered(deliveryId: number, epoch = 1, more: Partial<Settlement> = {}): Settlement {
  return {
    deliveryId,
    epoch,
    state: 'delivered',
    countAttempt: true,
    route: 'mx',
    lastCode: 250,
    lastReply: '250 2.0.0 Ok',
    events: [event('delivered', T0 + 1)],
    ...more,
  };
}

/** Claims from a queue without limits. */
export function claim(
  store: Store,
  queueId: number,
  more: { epoch?: number; now?: number; limit?: number } = {},
) {
  return store.claimDue({ eventId: newId(), queueId, epoch: 1, now: T0, limit: 100, maxBytes: 1e9, ...more });
}

/** The earliest due time of all recipients that wait, or null. */
export async function nextDueAt(store: Store): Promise<number | null> {
  return (await store.queueCounts({ now: Number.MAX_SAFE_INTEGER })).oldestDueAt;
}

/** A filter without conditions, oldest first. */
export function everyEvent(more: Partial<EventQuestion> = {}): EventQuestion {
  return { limit: 1000, look: 1000, newestFirst: false, ...more };
}

type EventQuestion = Parameters<Store['findEvents']>[0];

/** Kinds of the events that match, in order. */
export async function kindsOf(store: Store, more: Partial<EventQuestion> = {}): Promise<EventKind[]> {
  return (await store.findEvents(everyEvent(more))).events.map((found) => found.kind);
}

/** A webhook for everything of example.com. */
export function webhook(more: Partial<NewWebhook> = {}): NewWebhook {
  return {
    domain: 'example.com',
    domainId: null,
    events: ['all'],
    url: 'https://hooks.example.com/in',
    description: '',
    secretSealed: new Uint8Array([1, 2, 3]),
    createdBy: null,
    createdAt: T0,
    maxPerDomain: 100,
    ...more,
  };
}

/** Creates a webhook; its id. */
export async function createWebhook(store: Store, more: Partial<NewWebhook> = {}): Promise<number> {
  const result = await store.createWebhook(webhook(more));
  if (result.kind !== 'created') throw new Error(`Expected a webhook, got: ${result.kind}`);
  return result.id;
}

/** Claims calls without limits. */
export function claimCalls(
  store: Store,
  more: { epoch?: number; now?: number; limit?: number; exclude?: number[]; excludeDomains?: string[] } = {},
) {
  const { epoch = 1, now = T0 + HOUR, limit = 100, exclude = [], excludeDomains = [] } = more;
  return store.claimCalls({ epoch, now, limit, excludeWebhooks: exclude, excludeDomains });
}

/** A token for example.com. */
export function token(more: Partial<Token> = {}): Token {
  return {
    id: newId(),
    name: 'server',
    owner: 'project-1',
    domains: ['example.com'],
    scopes: ['email:send', 'email:read'],
    sandbox: false,
    ipAllowList: [],
    rateLimit: null,
    rateShares: [],
    createdBy: null,
    createdAt: T0,
    expiresAt: T0 + HOUR,
    lastUsedAt: null,
    lastUsedIp: null,
    revokedAt: null,
    replacedBy: null,
    ...more,
  };
}

/** Messages that match, newest first. */
export async function messagesOf(
  store: Store,
  more: Partial<MessageFilter> = {},
): Promise<readonly MessageView[]> {
  return (await store.listMessages({ limit: 1000, look: 10_000, ...more })).messages;
}

/** Suppressions in force at T0, newest first. */
export async function suppressionsOf(
  store: Store,
  more: Partial<Parameters<Store['listSuppressions']>[0]> = {},
): Promise<readonly Suppression[]> {
  return (await store.listSuppressions({ now: T0, limit: 10_000, look: 10_000, ...more })).suppressions;
}

/** Everything except messages and events, two rows at a time; returns how many suppressions changed. */
export async function eraseElsewhere(
  store: Store,
  asked: { address: string; proposedKey: Uint8Array },
): Promise<{ suppressions: number }> {
  let suppressions = 0;
  for (let from: ElsewherePlace | null | undefined; from !== null; ) {
    const done: Awaited<ReturnType<Store['eraseElsewhere']>> = await store.eraseElsewhere({
      ...asked,
      from: from ?? null,
      limit: 2,
    });
    suppressions += done.suppressions;
    from = done.next;
  }
  return { suppressions };
}
