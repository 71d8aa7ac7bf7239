/**
 * For the operator: GET /queue (what waits, by site and age, with reasons), GET /config (the configuration in force,
 * without secrets) and GET /warmup (the progress of new sources). For admin tokens; a token for some domains sees
 * only their queues, and not the configuration, which concerns everybody.
 */

import { z } from 'zod';
import { routeKeyParts } from '../../../model/route-key.ts';
import type { WarmupView } from '../../../policy/limits/warmup/warmup.ts';
import type { WaitingQueue } from '../../../store/topics/queue.ts';
import { type Answer, configAnswer, count, pageOf, priority, time } from '../answer-schemas.ts';
import type { ApiParts } from '../deps.ts';
import { operation } from '../operation.ts';
import { memoryPaging } from '../paging.ts';
import { DOMAIN, integer } from '../query.ts';
import { type ApiRoute, isoTime, isoTimeOrNull } from '../route.ts';
import { withMemory } from './memory-queues.ts';
import type { Traffic } from './traffic.ts';
import { reasons, toReason } from './traffic-items.ts';
import { nextTryAt, queueReasons } from './wait-words.ts';

const queueItem = z
  .object({
    Site: z.string().describe('The recipients’ domain'),
    SenderDomain: z.string(),
    Priority: priority,
    Tags: z.array(z.string()).describe('Of its messages’ tags, those that routes name'),
    Route: z
      .string()
      .describe('Where it goes by the configuration in force, e.g. `routes[1] smtp://mail.example.net:25`'),
    Waiting: count.describe('At most 1000 are looked at'),
    Complete: z.boolean().describe('false: there are more than were looked at'),
    Due: count.describe('Of them due already'),
    OldestAt: time,
    NextDueAt: time
      .nullable()
      .describe('When the first of them is tried; null: they are held without an end'),
    Ages: z
      .object({ Under1m: count, Under10m: count, Under1h: count, Under1d: count, Older: count })
      .describe('By the age of their message'),
    Reasons: reasons.describe('At most five, the most frequent first; empty = it waits for its turn'),
  })
  .meta({ id: 'Queue' });

const queueAnswer = z
  .object({
    Waiting: count.nullable().describe('null for a token of some domains; the same for the next three'),
    Sending: count.nullable(),
    PendingCalls: count.nullable(),
    OldestDueAt: time.nullable(),
    Queues: z.array(queueItem).describe('Earliest due first'),
    More: z.boolean(),
  })
  .meta({ id: 'QueueAnswer' });

const warmupItem = z
  .object({
    Source: z.string(),
    Provider: z.string(),
    Budget: count.nullable().describe('Messages within any 24 hours; null = warm, no budget'),
    Used: count.describe('Within the last 24 hours'),
    DeferredToday: count,
    BlockedToday: count,
    LastUsedAt: time.nullable(),
  })
  .meta({ id: 'Warmup' });

export type QueueItem = Answer<typeof queueItem>;

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** Ages below which a recipient counts, and their names; the last column has no limit. */
const AGES = [
  ['Under1m', MINUTE_MS],
  ['Under10m', 10 * MINUTE_MS],
  ['Under1h', HOUR_MS],
  ['Under1d', 24 * HOUR_MS],
] as const;
/** Rows looked at per queue: enough to see what is wrong, cheap over a long queue. */
const ROWS_PER_QUEUE = 1_000;
const MAX_REASONS = 5;
const WARMUP_PAGES = memoryPaging('warmup', ({ source, provider }: WarmupView) => `${source} ${provider}`);

export function operatorOperations(deps: ApiParts): readonly ApiRoute[] {
  const { store, clock } = deps;
  return [
    operation('GET /queue', {
      id: 'getQueue',
      scope: 'admin',
      limitedTokens: true,
      summary: 'Show what waits',
      description:
        'Waiting mail by queue, earliest due first: `{Waiting, Sending, PendingCalls, OldestDueAt, Queues: [{Site, SenderDomain, Priority, Tags, Route, Waiting, Complete, Due, OldestAt, NextDueAt, Ages, Reasons}], More}`. `Domain`, `Limit` (1–100, 100)',
      query: { Limit: integer(1, 100).default(100).describe('Queues of the answer'), ...DOMAIN },
      answer: queueAnswer,
      handle: async ({ query: { Limit: limit }, visible }) => {
        const now = clock.now();
        const [counts, waiting] = await Promise.all([
          visible.domains === undefined ? store.queueCounts({ now }) : null,
          store.waitingQueues({
            ...visible,
            now,
            limit,
            rowsPerQueue: ROWS_PER_QUEUE,
            ageLimitsMs: AGES.map(([, ms]) => ms),
          }),
        ]);
        const domains = visible.domains === undefined ? null : new Set(visible.domains);
        const inMemory = deps.traffic.waits.queues(({ senderDomain }) => domains?.has(senderDomain) ?? true);
        // Leased, but waiting like the rest.
        const leased = inMemory.reduce((sum, { createdAt }) => sum + createdAt.length, 0);
        const sending = counts === null ? null : Math.max(0, counts.sending - leased);
        const ages = AGES.map(([, ms]) => ms);
        const queues = withMemory(waiting.queues, inMemory, now, ages);
        return {
          Waiting: counts === null || sending === null ? null : counts.queued - sending,
          Sending: sending,
          PendingCalls: counts?.pendingCalls ?? null,
          OldestDueAt: isoTimeOrNull(counts?.oldestDueAt ?? null),
          Queues: queues.slice(0, limit).map((queue) => toItem(queue, deps.traffic, now)),
          More: waiting.more || queues.length > limit,
        };
      },
    }),
    operation('GET /warmup', {
      id: 'getWarmup',
      scope: 'admin',
      summary: 'Show the warm-up of new sources',
      description:
        'The warm-up step of each new source at each provider, a page: `{Source, Provider, Budget, Used, DeferredToday, BlockedToday, LastUsedAt}`; a null budget means that the warm-up is finished',
      query: WARMUP_PAGES.query,
      answer: pageOf('WarmupAnswer', warmupItem),
      handle: ({ query }) => WARMUP_PAGES.pageOf(deps.warmup.list(), query, toWarmupItem),
    }),
    operation('GET /config', {
      id: 'getConfig',
      scope: 'admin',
      summary: 'Show the configuration',
      description:
        'The configuration in force, without secrets: `{Mode, Version, Items: [{Key, Value, Source, Default, Meaning}]}`',
      answer: configAnswer,
      handle: () => deps.config(),
    }),
  ];
}

function toWarmupItem(view: WarmupView): Answer<typeof warmupItem> {
  return {
    Source: view.source,
    Provider: view.provider,
    Budget: view.budget,
    Used: view.used,
    DeferredToday: view.deferredToday,
    BlockedToday: view.blockedToday,
    LastUsedAt: isoTimeOrNull(view.lastUsedAt),
  };
}

function toItem(
  queue: WaitingQueue,
  traffic: Pick<Traffic, 'heldBy' | 'pausedBy' | 'blockedFor' | 'routeOf'>,
  now: number,
): QueueItem {
  const [under1m = 0, under10m = 0, under1h = 0, under1d = 0, older = 0] = queue.byAge;
  return {
    Site: queue.recipientDomain,
    SenderDomain: queue.senderDomain,
    Priority: queue.lane,
    Tags: routeKeyParts(queue.routeKey).tags,
    Route: traffic.routeOf(queue),
    Waiting: queue.waiting,
    Complete: queue.complete,
    Due: queue.due,
    OldestAt: isoTime(queue.oldestCreatedAt),
    NextDueAt: isoTimeOrNull(
      queue.sandbox ? Math.max(queue.nextDueAt, now) : nextTryAt(queue.nextDueAt, queue, traffic, now),
    ),
    Ages: { Under1m: under1m, Under10m: under10m, Under1h: under1h, Under1d: under1d, Older: older },
    Reasons: queueReasons(queue, traffic).slice(0, MAX_REASONS).map(toReason),
  };
}
