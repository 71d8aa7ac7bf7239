/**
 * POST /email/{MessageID}/cancel stops what still waits, …/retry queues again what failed, bounced or was deferred.
 * Changed recipients get their events, and the queue is woken, which would otherwise find due rows only at its next
 * sweep. What is being sent is never changed; recipients that are suppressed meanwhile stay out.
 */

import { z } from 'zod';
import { uuidv7 } from '../../../lib/ids.ts';
import { domainOfAddress } from '../../../mail/address-text.ts';
import type { EventKind } from '../../../model/event.ts';
import { recipientStatus } from '../../../model/status.ts';
import type { Caller } from '../../../model/submission.ts';
import { LANE_MAX_AGE } from '../../../pipeline/queue/retry-schedule.ts';
import { siteOfPath } from '../../../policy/limits/shaping/types.ts';
import { suppressedRecipients } from '../../../policy/suppressions/suppressions.ts';
import type { NewEvent } from '../../../store/topics/events.ts';
import type { MessageView, RecipientView } from '../../../store/topics/messages.ts';
import { type Answer, count, time } from '../answer-schemas.ts';
import type { ApiParts, HttpOptions } from '../deps.ts';
import { operation } from '../operation.ts';
import { type ApiRoute, isoTimeOrNull, refuse } from '../route.ts';
import { ownMessage, requestedBy } from '../tenancy.ts';
import type { Traffic, WaitingMail } from './traffic.ts';

const cancelAnswer = z
  .object({
    Canceled: count.describe('Recipients that were stopped'),
    TooLate: count.describe('Recipients that are being sent or were delivered'),
  })
  .meta({ id: 'CancelAnswer' });

const closedPath = z.object({ Site: z.string(), Reason: z.string(), Until: time.nullable() });

const retryAnswer = z
  .object({
    Queued: count.describe('Recipients that were queued again'),
    Opened: count.describe('Paths that were closed and are tried now; for administrators of all domains'),
    Closed: z.array(closedPath).describe('Paths that take no mail at the moment: it goes when they open'),
  })
  .meta({ id: 'RetryAnswer' });

export function cancelRetryOperations(deps: ApiParts, options: HttpOptions): readonly ApiRoute[] {
  const { store, clock, random } = deps;

  return [
    operation('POST /email/:id/cancel', {
      id: 'cancelEmail',
      scope: 'email:send',
      summary: 'Stop a message',
      description:
        'Cancels every recipient that still waits: `{Canceled, TooLate}`. Recipients that are being sent to or were delivered cannot be canceled; if none was canceled, 409',
      answer: cancelAnswer,
      errors: ['not-cancelable'],
      handle: async ({ caller, params }) => {
        const message = await ownMessage(store, caller, params.id);
        const now = clock.now();
        const waiting = message.recipients.filter((row) => row.state === 'queued' || row.state === 'sending');
        const ids = waiting.map(({ deliveryId }) => deliveryId);
        const results = await deps.queue.changing(ids, (some, leases) =>
          store.cancelQueued({
            messageSeq: message.seq,
            now,
            recipients: withEvents(
              waiting.filter(({ deliveryId }) => some.includes(deliveryId)),
              'canceled',
              now,
              caller,
            ).map((one) => underLease(one, leases)),
          }),
        );
        const canceled = results.reduce((sum, { changed }) => sum + changed.length, 0);
        const { tooLate } = results.at(-1) ?? { tooLate: 0 };
        if (canceled === 0) {
          throw tooLate === 0
            ? refuse('not-cancelable')
            : refuse('not-cancelable', 'Nothing is left to cancel: it is being sent or was delivered');
        }
        deps.eventsStored();
        return { Canceled: canceled, TooLate: tooLate };
      },
    }),
    operation('POST /email/:id/retry', {
      id: 'retryEmail',
      scope: 'email:send',
      summary: 'Try a message again',
      description:
        'Queues failed, bounced and deferred recipients again, due now, with the maximum age of their lane from now on: `{Queued}`. Recipients that are held because of their sender domain are checked again at once. Earlier attempts still count. `Closed` names closed paths: the mail is sent when they open. If an administrator of all domains asks, they are opened (`Opened`). 409 if there is nothing to try, or a hold of the operator stops it',
      answer: retryAnswer,
      errors: ['not-retryable', 'content-expired'],
      handle: async ({ caller, params }) => {
        const message = await ownMessage(store, caller, params.id);
        const now = clock.now();
        const candidates = message.recipients.filter(
          (row) => isRetryable(row, now) && holdOf(message, row) === null,
        );
        const closed = closedPaths(message, now);
        const suppressed = await suppressedAmong(message, candidates, now);
        const result = await store.requeue({
          messageSeq: message.seq,
          now,
          expiresAt: now + (options.maxAgeMs ?? LANE_MAX_AGE[message.lane]),
          recipients: withEvents(
            candidates.filter(({ address }) => !suppressed.has(address)),
            'requeued',
            now,
            caller,
          ),
        });
        if (result.kind === 'content-gone') throw refuse('content-expired');
        const isAdmin = caller.scopes.has('admin') && caller.domains.includes('*');
        const opened = isAdmin ? await deps.traffic.tryNow.paths(closed.keys()) : 0;
        if (result.count === 0 && opened === 0) {
          const why = whyNotRetried(message, [...closed.values()], suppressed);
          throw why === null ? refuse('not-retryable') : refuse('not-retryable', why);
        }
        deps.eventsStored();
        deps.queue.wake();
        return {
          Queued: result.count,
          Opened: opened,
          Closed: opened === 0 ? [...closed.values()] : [],
        };
      },
    }),
  ];

  function mailTo({ domain, lane }: MessageView, { address, routeKey }: RecipientView): WaitingMail {
    const recipientDomain = domainOfAddress(address);
    return { senderDomain: domain, recipientDomain, lane, routeKey };
  }

  function holdOf(message: MessageView, row: RecipientView) {
    return deps.traffic.heldBy(mailTo(message, row));
  }

  /** The closed paths that recipients of the message wait for, by name. */
  function closedPaths(message: MessageView, now: number): ReadonlyMap<string, Answer<typeof closedPath>> {
    const waiting = message.sandbox
      ? []
      : message.recipients.filter((row) => isRetryable(row, now) || row.state === 'queued');
    const closed = waiting.flatMap((row) => deps.traffic.blockedFor(mailTo(message, row)) ?? []);
    return new Map(closed.map((one) => [one.path, toClosed(one)]));
  }

  async function suppressedAmong(
    { domain, lane, listUnsubscribe, sandbox }: MessageView,
    rows: readonly RecipientView[],
    now: number,
  ): Promise<ReadonlyMap<string, unknown>> {
    if (sandbox) return new Map();
    const addresses = rows.map(({ address }) => address);
    return suppressedRecipients(store, { domain, addresses, lane, listUnsubscribe, now });
  }

  /** null: there was nothing to try. */
  function whyNotRetried(
    message: MessageView,
    [path]: readonly Answer<typeof closedPath>[],
    suppressed: ReadonlyMap<string, unknown>,
  ): string | null {
    if (path !== undefined) return `It goes when its path opens: ${path.Reason}`;
    const held = message.recipients.find((row) => row.state === 'queued' && holdOf(message, row) !== null);
    const hold = held === undefined ? null : holdOf(message, held);
    if (hold !== null) return `It goes when its hold is released: ${hold.reason}`;
    return suppressed.size === 0 ? null : 'Nothing can be tried again: who failed is on the suppression list';
  }

  function withEvents(
    rows: readonly RecipientView[],
    kind: EventKind,
    at: number,
    caller: Caller,
  ): { deliveryId: number; event: NewEvent }[] {
    return rows.map(({ deliveryId }) => ({
      deliveryId,
      event: { id: uuidv7(clock, random), kind, at, detail: requestedBy(caller) },
    }));
  }
}

type Blocked = NonNullable<ReturnType<Traffic['blockedFor']>>;

function toClosed({ path, reason, until }: Blocked): Answer<typeof closedPath> {
  const site = siteOfPath(path);
  return { Site: site, Reason: reason.replace(/^path: /, ''), Until: isoTimeOrNull(until) };
}

/** With the epoch of its lease, if it was released for the change. */
export function underLease<One extends { deliveryId: number }>(
  one: One,
  leases: ReadonlyMap<number, number>,
): One & { epoch?: number } {
  const epoch = leases.get(one.deliveryId);
  return epoch === undefined ? one : { ...one, epoch };
}

/** The store decides; this only excludes rows that can never be retried. */
function isRetryable(row: RecipientView, now: number): boolean {
  const status = recipientStatus(row, now);
  return status === 'Failed' || status === 'Bounced' || status === 'Deferred' || status === 'Held';
}
