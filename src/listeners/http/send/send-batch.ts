/**
 * POST /email/batch: up to 100 messages, each read by the rules of POST /email; the answers have the same order.
 * Accepted messages are stored in one commit, with the idempotency key of the whole batch. A worker splits a large body
 * and composes large messages, one after the other.
 */

import { z } from 'zod';
import { AppError } from '../../../lib/errors.ts';
import { isJsonObject } from '../../../lib/json-object.ts';
import { createTurns } from '../../../lib/turns.ts';
import type { BatchRequest } from '../../../pipeline/accept/acceptance.ts';
import type { BatchItem, ItemOutcome } from '../../../pipeline/accept/batch.ts';
import { sharersOf } from '../../../policy/access/rights.ts';
import { type Answer, count, messageId } from '../answer-schemas.ts';
import { requireJson } from '../body/json-media-type.ts';
import { prefersStrict } from '../body/prefer.ts';
import type { ApiParts } from '../deps.ts';
import { replayedAnswer } from '../idempotency.ts';
import { rawOperation } from '../operation.ts';
import { problemItem, shownProblem } from '../problem.ts';
import type { ApiAnswer, ApiRequest, ApiRoute } from '../route.ts';
import { BATCH_LIST, MAX_BATCH, readBatchEnvelope } from './batch-envelope.ts';
import { type EmailReader, parseBody } from './email-reader.ts';
import { EMAIL_EXAMPLE } from './fields.ts';

const batchAnswer = z
  .object({
    Results: z
      .array(z.union([z.object({ MessageID: messageId }), z.object({ Errors: z.array(shownProblem) })]))
      .describe('One result a message, in order'),
    Accepted: count,
    Rejected: count,
  })
  .meta({ id: 'BatchAnswer' });

/** Reads one message of the batch. */
type ReadOne = () => Promise<BatchItem>;

export function batchEmailOperation({
  acceptance,
  withKey,
  reader,
  workers,
  sendRate,
  email,
  clock,
}: ApiParts): ApiRoute {
  return rawOperation('POST /email/batch', {
    id: 'sendEmailBatch',
    scope: 'email:send',
    summary: 'Send up to 100 messages',
    description:
      '`{Messages}`, 1 to 100: `{Results, Accepted, Rejected}`, one result per message in the same order, `{MessageID}` or `{Errors}`. 200 even if some are refused; the accepted ones are stored in one commit. Each message counts for `rate-limit`. Takes `Idempotency-Key`, for the whole batch',
    body: {
      schema: z.object({ Messages: z.array(email).min(1).max(MAX_BATCH) }).meta({ id: 'EmailBatch' }),
      example: { Messages: [EMAIL_EXAMPLE] },
    },
    answer: batchAnswer,
    idempotent: true,
    errors: ['wrong-type'],
    takesLargeBody: true,
    countsAsSend: 'by-message',
    handle: ({ request }) => handle(request),
  });

  async function handle(request: ApiRequest): Promise<ApiAnswer> {
    requireJson(request.header('content-type'));
    const parts = reader.isLarge(request.body) ? null : partsOf(request, parseBody(request.body, BATCH_LIST));
    return withKey(request, 'POST /email/batch', async (key) =>
      send(request, parts ?? (await partsOfLarge(request)), key),
    );
  }

  async function send(
    request: ApiRequest,
    parts: readonly ReadOne[],
    key: BatchRequest['idempotency'],
  ): Promise<ApiAnswer> {
    const { caller } = request;
    const taken = sendRate.take(caller, parts.length);
    if (taken !== null && taken.refused !== null) throw taken.refused;
    const items: BatchItem[] = [];
    const turn = createTurns(clock);
    for (const part of parts) {
      items.push(await part());
      await turn();
    }
    let outcomes: readonly ItemOutcome[] = [];
    const result = await acceptance.acceptBatch({
      caller,
      items,
      idempotency: key,
      answer(each) {
        outcomes = each;
        return batchBody(each);
      },
    });
    if (result.kind === 'replay') return replayedAnswer(result.status, result.body);
    for (const [i, outcome] of outcomes.entries()) {
      const item = items[i];
      if (outcome.kind === 'refused')
        request.refused(outcome.problems[0], item?.kind === 'message' ? item.submission.fromDomain : null);
    }
    return { status: 200, body: result.body, ...(taken === null ? {} : { headers: taken.headers }) };
  }

  function partsOf(request: ApiRequest, parsed: ReturnType<typeof parseBody>): ReadOne[] {
    const strict = prefersStrict(request.header('prefer'));
    const envelope = readBatchEnvelope(parsed.object, strict);
    if (!envelope.ok) throw new AppError(envelope.problems);
    let exact: readonly unknown[] | null = null;
    return envelope.messages.map((message, i) => () => {
      if (!isJsonObject(message)) return noObject();
      const withExactIds = () => {
        if (exact === null) {
          const object = parsed.withExactIds();
          const again = object === null ? null : readBatchEnvelope(object, false);
          exact = again?.ok === true ? again.messages : [];
        }
        const found = exact[i];
        return isJsonObject(found) ? found : null;
      };
      const bytes = () => new TextEncoder().encode(JSON.stringify(withExactIds() ?? message));
      return asItem(() => reader.read(request.caller, { object: message, withExactIds, bytes }, { strict }));
    });
  }

  async function partsOfLarge(request: ApiRequest): Promise<ReadOne[]> {
    const strict = prefersStrict(request.header('prefer'));
    const split = await workers.run(sharersOf(request.caller), 'split', { body: request.body, strict });
    if (!split.ok) throw new AppError(split.problems);
    return split.messages.map((body) => () => {
      if (body === null) return noObject();
      return asItem(() =>
        reader.isLarge(body)
          ? reader.readLarge(request.caller, body, { strict })
          : reader.read(request.caller, parseBody(body), { strict }),
      );
    });
  }
}

/** A refusal of one message is the outcome of that message; a failure of the server fails the whole batch. */
async function asItem(read: () => ReturnType<EmailReader['read']>): Promise<BatchItem> {
  try {
    return { kind: 'message', ...(await read()) };
  } catch (error) {
    if (error instanceof AppError && error.status < 500) return { kind: 'refused', problems: error.problems };
    throw error;
  }
}

async function noObject(): Promise<BatchItem> {
  return { kind: 'refused', problems: [{ name: 'wrong-type', message: 'A message must be an object' }] };
}

function batchBody(outcomes: readonly ItemOutcome[]): string {
  const accepted = outcomes.filter(({ kind }) => kind === 'accepted').length;
  const answer: Answer<typeof batchAnswer> = {
    Results: outcomes.map((outcome) =>
      outcome.kind === 'accepted'
        ? { MessageID: outcome.messageId }
        : { Errors: outcome.problems.map(problemItem) },
    ),
    Accepted: accepted,
    Rejected: outcomes.length - accepted,
  };
  return JSON.stringify(answer);
}
