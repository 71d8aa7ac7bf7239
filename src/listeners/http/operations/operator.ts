/**
 * What the operator looks at (api.md §3): GET /queue, what waits by site and age with its reasons, and GET /config, the
 * configuration in force without its secrets, and GET /warmup, how far new sources have come. They are for admin tokens;
 * a token for some domains sees their queues only, and no configuration, which is everybody's.
 */
import { z } from 'zod';
import type { Clock } from '../../../lib/clock.ts';
import { routeKeyParts } from '../../../model/route-key.ts';
import type { WarmupView } from '../../../policy/limits/warmup/warmup.ts';
import type { Store } from '../../../store/store.ts';
import type { WaitingQueue } from '../../../store/topics/queue.ts';
import type { ConfigAnswer } from '../contract/answers/operator.ts';
import type { QueueAnswer, QueueItem } from '../contract/answers/queue.ts';
import type { WarmupAnswer, WarmupItem } from '../contract/answers/traffic.ts';
import { configAnswer, queueAnswer, warmupAnswer } from '../contract/schemas/operator.ts';
import { DOMAIN, PAGE } from '../contract/schemas/query.ts';
import { memoryPage } from '../memory-page.ts';
import { type ApiRoute, isoTime, isoTimeOrNull, json, queryInteger } from '../route.ts';
import { listedDomains } from '../tenancy.ts';
import { withMemory } from './memory-queues.ts';
import type { Traffic } from './traffic.ts';
import { nextTryAt, queueReasons } from './wait-words.ts';

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

/** The three routes. `config` gives what is in force, secrets already hidden. */
export function operatorRoutes(deps: {
  store: Store;
  clock: Clock;
  warmup: { list(): readonly WarmupView[] };
  traffic: Pick<Traffic, 'heldBy' | 'pausedBy' | 'closedFor' | 'routeOf' | 'waits'>;
  config(): ConfigAnswer;
}): readonly ApiRoute[] {
  const { store, clock } = deps;
  return [
    {
      method: 'GET',
      path: '/queue',
      scope: 'admin',
      limitedTokens: true,
      contract: {
        id: 'getQueue',
        summary: 'Show what waits',
        description:
          'What waits, queue by queue, earliest due first: `{Waiting, Sending, PendingCalls, OldestDueAt, Queues: [{Site, SenderDomain, Priority, Tags, Route, Waiting, Complete, Due, OldestAt, NextDueAt, Ages, Reasons}], More}`. `Domain`, `Limit` (1–100, 100)',
        query: { Limit: z.int().min(1).max(100).default(100).describe('Queues of the answer'), ...DOMAIN },
        answer: queueAnswer,
      },
      handle: async (request) => {
        const now = clock.now();
        const scope = listedDomains(request);
        const limit = queryInteger(request.query, 'Limit', { min: 1, max: 100, fallback: 100 });
        const [counts, waiting] = await Promise.all([
          scope.domains === undefined ? store.queueCounts({ now }) : null,
          store.waitingQueues({
            ...scope,
            now,
            limit,
            rowsPerQueue: ROWS_PER_QUEUE,
            ageLimitsMs: AGES.map(([, ms]) => ms),
          }),
        ]);
        const domains = scope.domains === undefined ? null : new Set(scope.domains);
        const inMemory = deps.traffic.waits
          .queues()
          .filter(({ senderDomain }) => domains?.has(senderDomain) ?? true);
        // Leased, but waiting like the rest.
        const leased = inMemory.reduce((sum, { createdAt }) => sum + createdAt.length, 0);
        const sending = counts === null ? null : Math.max(0, counts.sending - leased);
        const ages = AGES.map(([, ms]) => ms);
        const queues = withMemory(waiting.queues, inMemory, now, ages);
        const answer: QueueAnswer = {
          Waiting: counts === null || sending === null ? null : counts.queued - sending,
          Sending: sending,
          PendingCalls: counts?.pendingCalls ?? null,
          OldestDueAt: isoTimeOrNull(counts?.oldestDueAt ?? null),
          Queues: queues.slice(0, limit).map((queue) => toItem(queue, deps.traffic)),
          More: waiting.more || queues.length > limit,
        };
        return json(answer);
      },
    },
    {
      method: 'GET',
      path: '/warmup',
      scope: 'admin',
      contract: {
        id: 'getWarmup',
        summary: 'Show how new sources come along',
        description:
          'How far each new source has come at each provider, a page: `{Source, Provider, Budget, Used, DeferredToday, BlockedToday, LastUsedAt}`; a null budget is a warm source',
        query: PAGE,
        answer: warmupAnswer,
      },
      handle: ({ query }) => {
        const answer: WarmupAnswer = memoryPage(query, deps.warmup.list(), {
          list: 'warmup',
          keyOf: ({ source, provider }) => `${source} ${provider}`,
          itemOf: toWarmupItem,
        });
        return json(answer);
      },
    },
    {
      method: 'GET',
      path: '/config',
      scope: 'admin',
      contract: {
        id: 'getConfig',
        summary: 'Show the configuration',
        description:
          'The configuration in force, without secrets: `{Mode, Items: [{Key, Value, Source, Default, Meaning}]}`',
        answer: configAnswer,
      },
      handle: () => {
        return json(deps.config());
      },
    },
  ];
}

function toWarmupItem(view: WarmupView): WarmupItem {
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
  traffic: Pick<Traffic, 'heldBy' | 'pausedBy' | 'closedFor' | 'routeOf'>,
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
    NextDueAt: isoTime(queue.sandbox ? queue.nextDueAt : nextTryAt(queue.nextDueAt, queue, traffic)),
    Ages: { Under1m: under1m, Under10m: under10m, Under1h: under1h, Under1d: under1d, Older: older },
    Reasons: queueReasons(queue, traffic)
      .slice(0, MAX_REASONS)
      .map(([Reason, Count]) => ({ Reason, Count })),
  };
}
