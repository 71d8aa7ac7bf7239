/**
 * What the operator sees and orders about traffic (api.md §3): paths with their limits, overrides, holds. All of it
 * concerns everybody's mail, so that only admin tokens of all domains come here.
 */

import { z } from 'zod';
import type { Clock } from '../../../lib/clock.ts';
import { LANES, type Lane } from '../../../model/message.ts';
import type { MemoryWaits } from '../../../pipeline/deliver/memory-waits.ts';
import type { PathSnapshot, PathWord } from '../../../pipeline/deliver/path-state.ts';
import type { RelayState } from '../../../pipeline/deliver/relay-health.ts';
import {
  type Hold,
  type HoldMatch,
  type Holds,
  holdReason,
  siteNames,
} from '../../../policy/limits/holds.ts';
import { LIMIT_NAMES } from '../../../policy/limits/shaping/limit-values.ts';
import type { OverrideBook } from '../../../policy/limits/shaping/overrides.ts';
import type {
  EffectiveLimits,
  LimitOrigin,
  Override,
  PathQuery,
} from '../../../policy/limits/shaping/types.ts';
import type { Store } from '../../../store/store.ts';
import type {
  HoldItem,
  HoldsAnswer,
  OverrideItem,
  OverridesAnswer,
  PathItem,
  PathLimitItem,
  PathsAnswer,
  PathWordItem,
  RelayItem,
  ReleaseAnswer,
  SiteAnswer,
} from '../contract/answers/traffic.ts';
import type { ApiContract } from '../contract/operation.ts';
import { nothing } from '../contract/schemas/problem.ts';
import {
  holdItem,
  holdsAnswer,
  overridesAnswer,
  pathsAnswer,
  releaseAnswer,
  siteAnswer as siteSchema,
} from '../contract/schemas/traffic.ts';
import { readJsonBody } from '../json-request.ts';
import {
  type ApiRequest,
  type ApiRoute,
  invalidParameter,
  isoTime,
  isoTimeOrNull,
  json,
  refuse,
} from '../route.ts';
import { withMemory } from './memory-queues.ts';

/** What these operations look at and change. */
export interface Traffic {
  overrides: Pick<OverrideBook, 'list' | 'remove'>;
  holds: Pick<Holds, 'list' | 'add' | 'release'>;
  /** The hold that keeps a queue's mail back, or null. */
  heldBy(question: { senderDomain: string; recipientDomain: string; lane: Lane }): Hold | null;
  /** Why a sender domain's mail may not go to a site for a time, or null. */
  pausedBy(question: { senderDomain: string; recipientDomain: string; lane: Lane }): string | null;
  paths(): readonly PathSnapshot[];
  /** Why mail in memory is not being sent. */
  waits: MemoryWaits;
  /** Relays that failed last. */
  relays(): readonly RelayState[];
  limitsFor(query: PathQuery): EffectiveLimits;
  /** Looks a recipient domain's provider up. */
  providerOf(recipientDomain: string): Promise<string | null>;
}

const MAX_NAME = 255;
const MAX_REASON = 400;
const MAX_QUEUES = 1_000;
const ROWS_PER_QUEUE = 1_000;
const MAX_REASONS = 10;

const NAME = z.string().trim().toLowerCase().min(1).max(MAX_NAME);
const MATCH = {
  SenderDomain: NAME.optional(),
  RecipientDomain: NAME.optional(),
  Site: NAME.optional(),
  Priority: z.enum(LANES as readonly [Lane, ...Lane[]]).optional(),
  All: z.boolean().optional().describe('Said on purpose: everything'),
};
const HOLD = z.object({
  ...MATCH,
  Reason: z.string().trim().min(1).max(MAX_REASON),
  Until: z.union([z.string().max(64), z.number()]).optional(),
});
const RELEASE = z.object({ ...MATCH, HoldID: z.string().max(64).optional() });

/** The routes. */
export function trafficRoutes(deps: {
  store: Pick<Store, 'waitingQueues'>;
  traffic: Traffic;
  clock: Clock;
}): readonly ApiRoute[] {
  const { store, traffic, clock } = deps;
  return [
    route(
      'GET',
      '/queue/paths',
      {
        id: 'listPaths',
        summary: 'List paths and their limits',
        description:
          'Every path (source and site) that is in use or blocked, with its limits and where each comes from, its state, why it waits and until when, and its overrides: `{Items}`. For tokens of all domains, as all that follows about traffic',
        answer: pathsAnswer,
      },
      () => {
        const answer: PathsAnswer = {
          Items: traffic.paths().map(toPath),
          Relays: traffic.relays().map(toRelay),
        };
        return json(answer);
      },
    ),
    route(
      'GET',
      '/queue/paths/:site',
      {
        id: 'getSite',
        summary: 'Show the paths of one site',
        description:
          'The paths of one site, by its name, its provider or any recipient domain of it: `{Site, Paths, Limits, Holds, Waiting, Complete, Reasons}`; `Limits` where there is no path yet',
        answer: siteSchema,
      },
      async ({ params }) => {
        const site = (params.site ?? '').toLowerCase();
        if (site === '' || site.length > MAX_NAME * 4) throw refuse('not-found');
        return json(await siteAnswer(site));
      },
    ),
    route(
      'GET',
      '/queue/holds',
      {
        id: 'listHolds',
        summary: 'List what is held back',
        description: 'What is held back, oldest first: `{Items}`',
        answer: holdsAnswer,
      },
      () => {
        const answer: HoldsAnswer = { Items: traffic.holds.list().map(toHold) };
        return json(answer);
      },
    ),
    route(
      'POST',
      '/queue/hold',
      {
        id: 'holdQueue',
        summary: 'Hold mail back',
        description:
          '`{SenderDomain?, RecipientDomain?, Site?, Priority?, All?, Reason, Until?}`: keeps mail back that fits all that is named, 201 with its `HoldID`. It waits with that reason, is not lost, and still expires; no priority is exempt',
        body: {
          schema: HOLD,
          example: { RecipientDomain: 'example.net', Reason: 'their maintenance until noon' },
        },
        status: 201,
        answer: holdItem,
      },
      async (request) => {
        const body = readJsonBody(request, HOLD);
        const match = matchOf(body);
        if (isEverything(match) && body.All !== true) {
          throw invalidParameter(
            'Name SenderDomain, RecipientDomain, Site or Priority, or say All: true to hold everything',
            'SenderDomain',
          );
        }
        const until = body.Until === undefined ? null : instantOf(body.Until);
        if (until !== null && until <= clock.now()) throw invalidParameter('Until is over already', 'Until');
        const createdBy = request.caller.tokenId;
        const hold = await traffic.holds.add({ ...match, reason: body.Reason, until, createdBy });
        return json(toHold(hold), 201);
      },
    ),
    route(
      'POST',
      '/queue/release',
      {
        id: 'releaseQueue',
        summary: 'Let held mail go',
        description:
          '`{HoldID?, SenderDomain?, RecipientDomain?, Site?, Priority?, All?}`: ends the holds that name all that is given: `{Released}`. 404 where there is none',
        body: { schema: RELEASE, example: { RecipientDomain: 'example.net' } },
        answer: releaseAnswer,
        errors: ['not-found'],
      },
      async (request) => {
        const body = readJsonBody(request, RELEASE);
        const match = matchOf(body);
        if (body.HoldID === undefined && isEverything(match) && body.All !== true) {
          throw invalidParameter(
            'Name HoldID, or what the hold names, or say All: true to release everything',
            'HoldID',
          );
        }
        const ids = traffic.holds
          .list()
          .filter((hold) => (body.HoldID === undefined || hold.id === body.HoldID) && names(hold, match))
          .map(({ id }) => id);
        if (ids.length === 0) throw refuse('not-found', 'No hold in force is that one');
        const answer: ReleaseAnswer = { Released: await traffic.holds.release(ids) };
        return json(answer);
      },
    ),
    route(
      'GET',
      '/overrides',
      {
        id: 'listOverrides',
        summary: 'List limits that were learned or set',
        description:
          'Limits learned from replies or set for a time, newest first: `{Items: [{OverrideID, Scope, Key, Param, Value, Until, Rule, Why, CreatedAt}]}`',
        answer: overridesAnswer,
      },
      () => {
        const answer: OverridesAnswer = { Items: traffic.overrides.list().map(toOverride) };
        return json(answer);
      },
    ),
    route(
      'DELETE',
      '/overrides/:id',
      {
        id: 'deleteOverride',
        summary: 'End a learned limit',
        description: 'Ends one now: `{}`. The next reply of its kind may bring it back',
        answer: nothing,
      },
      async ({ params }) => {
        const removed = await traffic.overrides.remove(params.id ?? '');
        if (removed === null) throw refuse('not-found');
        return json({});
      },
    ),
  ];

  async function siteAnswer(site: string): Promise<SiteAnswer> {
    const paths = traffic.paths().filter((path) => goesBy(path, site));
    const domains = new Set(paths.flatMap((path) => path.domains));
    if (domains.size === 0 || !paths.some((path) => path.site === site))
      domains.add(site.replace(/^mx:/, ''));
    const waiting = await store.waitingQueues({
      recipientDomains: [...domains],
      now: clock.now(),
      limit: MAX_QUEUES,
      rowsPerQueue: ROWS_PER_QUEUE,
      ageLimitsMs: [],
    });
    const reasons = new Map<string, number>();
    const inMemory = traffic.waits.queues().filter(({ recipientDomain }) => domains.has(recipientDomain));
    const queues = withMemory(waiting.queues, inMemory, clock.now(), []);
    for (const queue of queues) {
      const hold = traffic.heldBy(queue);
      for (const { reason, count } of hold === null
        ? queue.reasons
        : [{ reason: holdReason(hold), count: queue.waiting }])
        reasons.set(reason, (reasons.get(reason) ?? 0) + count);
    }
    const provider = paths[0]?.provider ?? (site.includes('.') ? await traffic.providerOf(site) : null);
    const route = site.startsWith('relay:') ? 'relay' : 'mx';
    return {
      Site: site,
      Paths: paths.map(toPath),
      Relays: traffic
        .relays()
        .filter(({ relay }) => goesByAny(paths, site, relay))
        .map(toRelay),
      Limits:
        paths.length > 0
          ? []
          : toLimits(traffic.limitsFor({ source: '', site, provider: provider ?? site, route })),
      Holds: traffic.holds
        .list()
        .filter(
          (hold) =>
            (hold.site === null || goesByAny(paths, site, hold.site)) &&
            (hold.recipientDomain === null || domains.has(hold.recipientDomain)),
        )
        .map(toHold),
      Waiting: queues.reduce((sum, queue) => sum + queue.waiting, 0),
      Complete: !waiting.more && queues.every(({ complete }) => complete),
      Reasons: [...reasons]
        .filter(([reason]) => reason !== '')
        .sort((a, b) => b[1] - a[1])
        .slice(0, MAX_REASONS)
        .map(([Reason, Count]) => ({ Reason, Count })),
    };
  }

  function route(
    method: ApiRoute['method'],
    path: string,
    contract: ApiContract,
    handle: (request: ApiRequest) => ReturnType<ApiRoute['handle']>,
  ): ApiRoute {
    return {
      method,
      path,
      scope: 'admin',
      contract,
      handle: (request) => {
        if (!request.caller.domains.includes('*'))
          throw refuse('scope-missing', 'Traffic is for admin tokens of all domains');
        return handle(request);
      },
    };
  }
}

function goesBy(path: PathSnapshot, name: string): boolean {
  return path.provider === name || path.domains.includes(name) || siteNames(path.site).includes(name);
}

function goesByAny(paths: readonly PathSnapshot[], site: string, name: string): boolean {
  return siteNames(site).includes(name) || paths.some((path) => goesBy(path, name));
}

function matchOf(body: z.output<typeof RELEASE>): HoldMatch {
  return {
    senderDomain: body.SenderDomain ?? null,
    recipientDomain: body.RecipientDomain ?? null,
    site: body.Site ?? null,
    lane: body.Priority ?? null,
  };
}

function isEverything({ senderDomain, recipientDomain, site, lane }: HoldMatch): boolean {
  return senderDomain === null && recipientDomain === null && site === null && lane === null;
}

/** Whether a hold is one that names all this. */
function names(hold: Hold, match: HoldMatch): boolean {
  return (['senderDomain', 'recipientDomain', 'site', 'lane'] as const).every(
    (name) => match[name] === null || match[name] === hold[name],
  );
}

function instantOf(value: string | number): number {
  const at =
    typeof value === 'number'
      ? value * 1000
      : /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}/.test(value)
        ? Date.parse(value)
        : Number.NaN;
  if (!Number.isSafeInteger(Math.round(at)) || at > 8.64e15)
    throw invalidParameter('Until must be Unix seconds or an ISO 8601 time', 'Until');
  return Math.round(at);
}

function toPath(path: PathSnapshot): PathItem {
  return {
    Site: path.site,
    Source: path.source,
    Provider: path.provider,
    Route: path.route,
    Domains: path.domains,
    State: path.breaker.kind,
    Reason: path.reason,
    WaitsFor: path.waitsFor,
    WaitsUntil: isoTimeOrNull(path.waitsUntil),
    Connections: {
      Open: path.connections.open,
      Busy: path.connections.busy,
      Opening: path.connections.opening,
    },
    Window: path.window,
    Limits: toLimits(path.effective),
    Overrides: path.overrides.map(toOverride),
    Waiting: path.waiting,
    InFlight: path.inFlight,
    LastSuccess: toWord(path.lastSuccess),
    LastFailure: toWord(path.lastFailure),
  };
}

function toRelay({ relay, failures, until, why }: RelayState): RelayItem {
  return { Relay: relay, Failures: failures, Until: isoTime(until), Why: why };
}

function toWord(word: PathWord | null): PathWordItem | null {
  return word === null ? null : { At: isoTime(word.at), Text: word.text };
}

function toLimits({ limits, origins }: EffectiveLimits): PathLimitItem[] {
  return LIMIT_NAMES.map((name) => {
    const origin = origins[name];
    return {
      Name: name,
      Value: limits[name],
      From: origin.kind,
      Detail: detailOf(origin),
      Until: origin.kind === 'override' ? isoTime(origin.until) : null,
    };
  });
}

function detailOf(origin: LimitOrigin): string {
  if (origin.kind === 'config') return origin.key;
  return origin.kind === 'override' ? origin.rule : origin.row;
}

function toOverride(override: Override): OverrideItem {
  return {
    OverrideID: override.id,
    Scope: override.scope,
    Key: override.key,
    Param: override.param,
    Value: override.value,
    Until: isoTime(override.until),
    Rule: override.rule,
    Why: override.why,
    CreatedAt: isoTime(override.createdAt),
  };
}

function toHold(hold: Hold): HoldItem {
  return {
    HoldID: hold.id,
    SenderDomain: hold.senderDomain,
    RecipientDomain: hold.recipientDomain,
    Site: hold.site,
    Priority: hold.lane,
    Reason: hold.reason,
    Until: isoTimeOrNull(hold.until),
    CreatedAt: isoTime(hold.createdAt),
  };
}
