/**
 * Commits composed messages: reserves places in the window, commits all messages at once, hands rows over to delivery.
 * Takes drafts with checked recipients. They are stored together with the idempotency key and their quota charges; the
 * rows that fit into the window are leased and admitted. Without a commit, no reservation is left.
 */
import type { Clock } from '../../lib/clock.ts';
import { AppError } from '../../lib/errors.ts';
import type { Failpoints } from '../../lib/failpoints.ts';
import type { Logger } from '../../lib/log.ts';
import type { ClaimedDelivery } from '../../model/delivery.ts';
import type { Lane } from '../../model/message.ts';
import type { NodeLease } from '../../model/node.ts';
import { respectsOptOuts } from '../../model/personal.ts';
import type { QuotaLimits } from '../../model/quota.ts';
import type { Caller } from '../../model/submission.ts';
import type { Store } from '../../store/store.ts';
import type {
  CommitResult,
  NewMessage,
  NewRecipient,
  QuotaCharge,
  ToldNotice,
} from '../../store/topics/acceptance.ts';
import type { Queue, Reservation, StoredRow } from '../queue/queue.ts';
import type { AcceptMetrics } from './accept-metrics.ts';

/** A message ready to be committed. */
export interface Draft {
  message: NewMessage & { recipients: NewRecipient[] };
  /** Quota of its sender domain; null = none. */
  quota: QuotaLimits | null;
}

export interface Taking {
  caller: Caller;
  idempotency: { operation: string; key: string; fingerprint: Uint8Array } | null;
  /** The answer's body, stored with the key. */
  body: string;
}

/** The possible results of a request. */
export type Taken = Exclude<CommitResult, { kind: 'key-reused' | 'told' | 'epoch-ended' }>;

export interface Committer {
  /** Throws AppError unavailable, idempotency-key-reused; rejects with StoreUnavailable. */
  take(request: Taking, drafts: readonly Draft[]): Promise<Taken>;
  /** Commits a notice with the facts it reports; false if they were already reported. Rejects as `take` does. */
  tell(caller: Caller, draft: Draft, tells: ToldNotice): Promise<boolean>;
  /** From now on everything is refused. */
  close(): void;
  /** Why nothing is accepted now, or null. */
  refusing(): string | null;
  /** Throws AppError unavailable if anything refuses. */
  requireOpen(): void;
}

type StoredMessage = Extract<CommitResult, { kind: 'committed' }>['messages'][number];

/** What committing needs. */
export interface CommitDeps {
  store: Store;
  queue: Queue;
  clock: Clock;
  node: NodeLease;
  log: Logger;
  metrics: AcceptMetrics;
  failpoints: Failpoints;
  /** Called when events were stored: webhook calls may be due. */
  eventsStored(): void;
  /** The route key of a recipient's queue; absent = always ''. */
  routeKeyOf?(mail: RoutedMail): string;
  /** Other reasons to refuse (a disk that is nearly full), or null. */
  refusing(): string | null;
}

/** A recipient that is sent by some route. */
export interface RoutedMail {
  senderDomain: string;
  recipientDomain: string;
  lane: Lane;
  address: string;
  tags: readonly string[];
  size: number;
}

const NO_ROOM: Reservation = { sites: [], lane: 'normal', senderDomain: '', rows: 0, bytes: 0, sinceMs: 0 };

export const RETRY_AFTER_SECONDS = 5;

/** One per process. */
export function createCommitter(deps: CommitDeps, options: { idempotencyWindowMs: number }): Committer {
  const { store, queue, clock, node, log, metrics } = deps;
  let closed = false;
  return {
    async take(request, drafts) {
      const result = await taken(request, drafts);
      if (result.kind === 'told') throw new Error('A commit that tells nothing cannot have been told');
      return result;
    },
    async tell(caller, draft, tells) {
      const result = await taken({ caller, idempotency: null, body: '' }, [draft], tells);
      return result.kind === 'committed';
    },
    close() {
      closed = true;
    },
    refusing,
    requireOpen,
  };

  async function taken(request: Taking, drafts: readonly Draft[], tells?: ToldNotice) {
    requireOpen();
    for (const { message } of drafts) giveRouteKeys(message);
    const { epoch } = node;
    const rooms = drafts.map(({ message }) => reserve(message));
    let result: CommitResult | null = null;
    try {
      result = await commit(request, drafts, tells, epoch);
    } finally {
      if (result?.kind !== 'committed') giveBack(rooms, drafts);
    }
    if (result.kind === 'key-reused') throw new AppError('idempotency-key-reused');
    // Other nodes considered this node dead; it is about to begin a new epoch.
    if (result.kind === 'epoch-ended')
      throw new AppError('unavailable', { retryAfterSeconds: 1, cause: 'this node has lost its lease' });
    if (result.kind !== 'committed') return result;
    deps.failpoints.reach('after-commit');
    deps.eventsStored();
    drafts.forEach(({ message }, i) => {
      handOver(message, result.messages[i], epoch, rooms[i] ?? NO_ROOM);
      record(message);
    });
    return result;
  }

  function requireOpen(): void {
    const why = refusing();
    if (why !== null)
      throw new AppError('unavailable', { retryAfterSeconds: RETRY_AFTER_SECONDS, cause: why });
  }

  function refusing(): string | null {
    if (closed) return 'the server is shutting down';
    const writable = store.writable();
    if (!writable.ok) return writable.reason;
    return queue.backlogged() ?? deps.refusing();
  }

  function giveRouteKeys({ recipients, domain: senderDomain, lane, tags, content }: Draft['message']): void {
    if (deps.routeKeyOf === undefined) return;
    for (const recipient of recipients) {
      if (recipient.sandbox !== null) continue;
      const { address, domain: recipientDomain } = recipient;
      const mail = { senderDomain, recipientDomain, lane, address, tags, size: content.length };
      const routeKey = deps.routeKeyOf(mail);
      if (routeKey !== '') recipient.routeKey = routeKey;
    }
  }

  /** Scheduled mail gets no place in memory. */
  function reserve(message: Draft['message']): Reservation {
    if (message.sendAt !== null) return NO_ROOM;
    const { content } = message;
    const waiting = message.recipients.filter((recipient) => recipient.state !== 'suppressed');
    const room = queue.reserve(
      waiting.map((r) => ({
        recipientDomain: r.domain,
        senderDomain: message.domain,
        lane: message.lane,
        sandbox: r.sandbox,
        ...routeKeyIn(r),
      })),
      content.length,
    );
    room.sites.forEach((site, i) => {
      const recipient = waiting[i];
      if (site !== null && recipient !== undefined) recipient.state = 'sending';
    });
    return room;
  }

  /** What was not stored has no place in memory. */
  function giveBack(rooms: readonly Reservation[], drafts: readonly Draft[]): void {
    rooms.forEach(queue.unreserve);
    for (const { message } of drafts)
      for (const recipient of message.recipients)
        if (recipient.state === 'sending') recipient.state = 'queued';
  }

  function commit(
    request: Taking,
    drafts: readonly Draft[],
    tells: ToldNotice | undefined,
    epoch: number,
  ): Promise<CommitResult> {
    const quotas = charges(drafts);
    const now = drafts[0]?.message.createdAt ?? clock.now();
    return store.commitAccepted({
      messages: drafts.map(({ message }) => message),
      epoch,
      ...(quotas.length === 0 ? {} : { quotas }),
      ...(tells === undefined ? {} : { tells }),
      idempotency:
        request.idempotency === null
          ? null
          : {
              ...request.idempotency,
              owner: request.caller.owner,
              status: 200,
              body: request.body,
              createdAt: now,
              expiresBefore: now - options.idempotencyWindowMs,
            },
    });
  }

  function record(message: NewMessage): void {
    const { id: messageId, domain, content, lane } = message;
    metrics.accepted(lane, message.recipients.length, content.length);
    const kept = message.sendAt === null ? 'accepted' : 'scheduled';
    for (const recipient of message.recipients) {
      log.info(
        { messageId, domain, to: recipient.address, lane, size: content.length },
        recipient.state === 'suppressed' ? 'suppressed' : kept,
      );
    }
  }

  /** Rows inserted as leased go to the window from memory; the queue's sweep finds the others. */
  function handOver(
    message: NewMessage,
    stored: StoredMessage | undefined,
    epoch: number,
    room: Reservation,
  ) {
    if (stored === undefined) return;
    const fresh: ClaimedDelivery[] = [];
    const stays: StoredRow[] = [];
    message.recipients.forEach((recipient, i) => {
      const row = stored.deliveries[i];
      if (row === undefined) return;
      if (recipient.state === 'sending')
        fresh.push(leasedRow(message, recipient, stored.seq, row.id, row.queueId, epoch));
      else if (recipient.state === 'queued') stays.push(waitingRow(message, recipient, row.queueId));
    });
    if (fresh.length > 0) queue.admit(fresh, message.content, room);
    else queue.unreserve(room);
    if (stays.length > 0) queue.stored(stays);
  }
}

/** A recipient that was inserted as leased to `epoch`. */
function leasedRow(
  message: NewMessage,
  recipient: NewRecipient,
  messageSeq: number,
  id: number,
  queueId: number,
  epoch: number,
): ClaimedDelivery {
  return {
    id,
    epoch,
    queueId,
    messageSeq,
    messageId: message.id,
    senderDomain: message.domain,
    lane: message.lane,
    address: recipient.address,
    recipientDomain: recipient.domain,
    kind: recipient.kind,
    attempts: 0,
    createdAt: message.createdAt,
    expiresAt: message.expiresAt,
    size: message.content.length,
    bodyOffset: message.bodyOffset,
    needsSmtpUtf8: message.needsSmtpUtf8,
    eightBit: message.eightBit,
    sandbox: recipient.sandbox,
    ...routeKeyIn(recipient),
    ...(message.nullSender === true ? { nullSender: true as const } : {}),
    mayBeDuplicate: false,
    firstDeferredAt: null,
    lastDeferredEventAt: null,
    lastReply: null,
    lastCategory: null,
    ...(message.places === undefined
      ? {}
      : { personal: true, listUnsubscribe: respectsOptOuts(message.places) }),
  };
}

/** One that waits in the store. */
function waitingRow(message: NewMessage, recipient: NewRecipient, queueId: number): StoredRow {
  return {
    queueId,
    lane: message.lane,
    senderDomain: message.domain,
    recipientDomain: recipient.domain,
    sandbox: recipient.sandbox !== null,
    ...routeKeyIn(recipient),
    dueAt: recipient.dueAt,
  };
}

/** Absent for nearly all mail. */
function routeKeyIn({ routeKey }: NewRecipient): { routeKey?: string } {
  return routeKey === undefined ? {} : { routeKey };
}

/** Recipients of a message that count towards its domain's quota: those that really get mail. */
export function chargedRecipients(message: NewMessage): number {
  return message.recipients.filter(({ state, sandbox }) => state !== 'suppressed' && sandbox === null).length;
}

/** One charge per domain; none if no domain has a quota. */
function charges(drafts: readonly Draft[]): QuotaCharge[] {
  const found = new Map<string, QuotaCharge>();
  for (const { message, quota } of drafts) {
    if (quota === null) continue;
    const count = chargedRecipients(message);
    if (count === 0) continue;
    const known = found.get(message.domain);
    if (known === undefined) {
      found.set(message.domain, { domain: message.domain, count, limits: quota, now: message.createdAt });
    } else known.count += count;
  }
  return [...found.values()];
}
