/**
 * PATCH /email/{MessageID}: another time for a scheduled message that was sent to nobody yet, even if its time has come
 * and it waits for its turn. In one transaction every waiting recipient gets the new time and a `scheduled` event, and
 * the Date of the message is rewritten if it is ours. Once a recipient is being sent to, the answer is 409.
 */

import { z } from 'zod';
import { AppError } from '../../../lib/errors.ts';
import { uuidv7 } from '../../../lib/ids.ts';
import { readSendTime } from '../../../model/schedule.ts';
import { dateText } from '../../../pipeline/compose/compose.ts';
import { LANE_MAX_AGE } from '../../../pipeline/queue/retry-schedule.ts';
import type { ApiParts, HttpOptions } from '../deps.ts';
import { operation } from '../operation.ts';
import { type ApiRoute, refuse } from '../route.ts';
import { ownMessage } from '../tenancy.ts';
import { underLease } from './cancel-retry.ts';
import { messageDetail, toDetail } from './messages.ts';

const CHANGES = z.object({
  SendAt: z
    .unknown()
    .meta({ type: ['string', 'number'], description: 'ISO 8601 with an offset, or Unix seconds' })
    .optional(),
});

export function rescheduleOperation(
  { store, clock, random, queue, eventsStored }: ApiParts,
  options: HttpOptions,
): ApiRoute {
  return operation('PATCH /email/:id', {
    id: 'rescheduleEmail',
    scope: 'email:send',
    summary: 'Move a scheduled message',
    description:
      '`{SendAt}`: changes the time of a scheduled message of which nothing was tried yet, and answers with the message. Its `Date` changes too, and its expiry unless `ExpiresAt` was given. 409 if it is being sent or was sent',
    body: { schema: CHANGES, example: { SendAt: '2026-12-01T08:00:00Z' } },
    answer: messageDetail,
    errors: ['send-at-invalid', 'not-scheduled'],
    handle: async ({ caller, params, body }) => {
      const message = await ownMessage(store, caller, params.id);
      const now = clock.now();
      const wanted = readSendTime(body.SendAt, now);
      if (!wanted.ok) throw invalid(wanted.message);
      const sendAt = wanted.at ?? now;
      const expiresAt = message.expiryGiven
        ? message.expiresAt
        : sendAt + (options.maxAgeMs ?? LANE_MAX_AGE[message.lane]);
      if (expiresAt <= sendAt) throw invalid('SendAt must be earlier than ExpiresAt of the message');
      const waiting = message.recipients.filter((row) => row.state === 'queued' || row.state === 'sending');
      const change = async (leases: ReadonlyMap<number, number>) => {
        const result = await store.reschedule({
          messageSeq: message.seq,
          now,
          sendAt,
          expiresAt,
          date: dateText(sendAt),
          recipients: waiting.map(({ deliveryId }) =>
            underLease(
              {
                deliveryId,
                event: {
                  id: uuidv7(clock, random),
                  kind: 'scheduled' as const,
                  at: now,
                  detail: { nextAttemptAt: sendAt },
                },
              },
              leases,
            ),
          ),
        });
        return { result, changed: result.kind === 'rescheduled' ? result.changed : [] };
      };
      const ids = waiting.map(({ deliveryId }) => deliveryId);
      const results = await queue.changing(ids, (_, leases) => change(leases));
      const result = results.at(-1)?.result ?? { kind: 'not-scheduled' };
      if (result.kind === 'content-gone') throw refuse('content-expired');
      if (result.kind === 'not-scheduled') throw refuse('not-scheduled');
      queue.wake(sendAt);
      eventsStored();
      return toDetail(await ownMessage(store, caller, params.id), caller, now);
    },
  });
}

function invalid(message: string): AppError {
  return new AppError('send-at-invalid', { field: '/SendAt', message });
}
