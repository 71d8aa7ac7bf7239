/**
 * Paths: GET /queue/paths, every path with its limits and state; GET /queue/paths/{site}, one site by any of its names
 * with the mail that waits for it; POST /queue/paths/{site}/try, which lets it be tried now. A name without a path is
 * shown only if mail could go there: a domain or a provider, with its initial limits, marked as unused.
 */
import { z } from 'zod';
import { toALabelDomain } from '../../../mail/address.ts';
import { isRelaySite } from '../../../model/route.ts';
import type { PathRef } from '../../../pipeline/deliver/path/state.ts';
import { siteNames } from '../../../policy/limits/holds.ts';
import type { WaitingReason } from '../../../store/topics/queue.ts';
import { type Answer, count, pageOf, time } from '../answer-schemas.ts';
import type { ApiParts } from '../deps.ts';
import { operation } from '../operation.ts';
import { memoryPaging } from '../paging.ts';
import { type ApiRoute, isoTime, isoTimeOrNull, refuse } from '../route.ts';
import { withMemory } from './memory-queues.ts';
import { MAX_NAME } from './traffic.ts';
import {
  holdItem,
  limitItem,
  pathItem,
  reasons,
  relayItem,
  toHold,
  toLimits,
  toPath,
  toReason,
  toRelay,
} from './traffic-items.ts';
import { addReason, mostFirst, queueReasons } from './wait-words.ts';

const pathsAnswer = pageOf('PathsAnswer', pathItem)
  .extend({ Relays: z.array(relayItem).describe('Those that failed, on every page') })
  .meta({ id: 'PathsAnswer' });

const tryAnswer = z
  .object({
    Tried: count.describe('Paths and relays that were closed and are tried now'),
    Due: count.describe(
      'Recipients that waited because of their path, or because of a reply of the relay, and are due now',
    ),
    Deferred: count.describe(
      'Recipients of the domain that wait because of a reply to them: `POST /email/{id}/retry` tries one',
    ),
    Paths: z.array(pathItem).describe('As they are now'),
    Relays: z.array(relayItem),
  })
  .meta({ id: 'TryAnswer' });

const siteAnswer = z
  .object({
    Site: z.string(),
    Note: z.string().describe('If no path is in use: what that means; otherwise empty'),
    Paths: z.array(pathItem),
    Relays: z.array(relayItem).describe('Relays of the site that failed'),
    Limits: z.array(limitItem).describe('Limits where there is no path yet'),
    Holds: z.array(holdItem),
    Waiting: count.describe('Recipients in the store, of the site’s domains'),
    Complete: z.boolean().describe('false: more wait than were counted'),
    Reasons: reasons,
    History: z
      .array(
        z.object({
          At: time,
          Source: z.string().describe('Empty where no source is configured'),
          Until: time.nullable().describe('Closed until then; null = it opened'),
          Reason: z.string().nullable().describe('Why it closed; null = it opened'),
        }),
      )
      .describe('When its paths closed and opened in the last 14 days, newest first, at most 50'),
  })
  .meta({ id: 'Site' });

const PAGES = memoryPaging('paths', ({ site, key }: PathRef) => `${site} ${key}`);
const MAX_QUEUES = 1_000;
const ROWS_PER_QUEUE = 1_000;
const MAX_REASONS = 10;
/** Queues of one domain whose sites are found out, which may ask the DNS. A path knows only its last domains. */
const MAX_ASKED = 20;
const MAX_CHANGES = 50;
/** As long as changes are stored. */
const HISTORY_MS = 14 * 86_400_000;

const UNKNOWN = 'No path, provider or relay in use has this name, and it is no domain';
const UNTRIED = 'No path or relay that is in use or closed has this name; see: postrider queue path';
const UNUSED =
  'Nothing waits for this site and nothing has gone there since the start; mail to it would begin with these limits';
const NOT_YET = 'Nothing has gone there since the start; what waits would begin with these limits';
const UNCLEAR =
  ', or with those of its provider, which is not known because its MX records could not be looked up';

export function pathOperations({ store, traffic, clock }: ApiParts): readonly ApiRoute[] {
  return [
    operation('GET /queue/paths', {
      id: 'listPaths',
      scope: 'admin',
      summary: 'List paths and their limits',
      description:
        'Every path (source and site) that is in use or blocked, by site, a page: its limits and where each comes from, its state, why it waits and until when, its overrides. `Relays`, on every page, are those that failed. Needs a token of all domains, as do all operations about traffic',
      query: PAGES.query,
      answer: pathsAnswer,
      handle: ({ query }) => ({
        ...PAGES.pageOf(traffic.paths(), query, (path) => toPath(path.snapshot())),
        Relays: traffic.relays().map(toRelay),
      }),
    }),
    operation('GET /queue/paths/:site', {
      id: 'getSite',
      scope: 'admin',
      summary: 'Show the paths of one site',
      description:
        'The paths of one site, by its name, its provider or any recipient domain of it: `{Site, Note, Paths, Limits, Holds, Waiting, Complete, Reasons, History}`. If there is no path yet, `Note` says so and `Limits` are those that mail would begin with. 404 for what is neither in use nor a domain or provider',
      answer: siteAnswer,
      handle: ({ params }) => siteOf(siteName(params.site)),
    }),
    operation('POST /queue/paths/:site/try', {
      id: 'tryPath',
      scope: 'admin',
      summary: 'Try a path now',
      description:
        'Opens the paths or the relay of that name (as in `GET /queue/paths/{site}`) now: the pause after failures, a suspension, the time for which a relay is passed over. One message tests each; if it fails, they close again. Mail that waits because of its path becomes due; for a relay also what its replies put off, and for a recipient domain also if the path was not used since the start. Holds stay: `{Tried, Due, Deferred, Paths, Relays}`. 404 if no path or relay has this name and no mail waits for such a domain',
      answer: tryAnswer,
      handle: async ({ params }) => {
        const site = siteName(params.site);
        const domain = domainOf(site);
        const mail =
          domain === null ? [] : (await mailFor([domain])).queues.filter(({ sandbox }) => !sandbox);
        const sites = new Set((await Promise.all(mail.slice(0, MAX_ASKED).map(traffic.sitesOf))).flat());
        const paths = traffic.paths().filter((path) => goesBy(path, site) || sites.has(path.site));
        const failed = traffic.relays().filter(({ relay }) => goesByAny(paths, site, relay));
        if (paths.length === 0 && failed.length === 0 && mail.length === 0)
          throw refuse('not-found', UNTRIED);
        const due = domain === null || mail.length === 0 ? 0 : await traffic.tryNow.mailTo(domain);
        const keys = paths.map(({ key }) => key);
        let tried = await traffic.tryNow.paths(keys);
        for (const { relay } of paths.length > 0 ? [] : failed) tried += traffic.tryNow.relay(relay) ? 1 : 0;
        return {
          Tried: tried,
          Due: due + (await traffic.tryNow.putOffByRelays(keys)),
          Deferred: mail.flatMap(({ reasons }) => reasons).reduce(countOwn, 0),
          Paths: paths.map((path) => toPath(path.snapshot())),
          Relays: traffic
            .relays()
            .filter(({ relay }) => failed.some((one) => one.relay === relay))
            .map(toRelay),
        };
      },
    }),
  ];

  function siteName(param: string): string {
    const site = param.trim().toLowerCase();
    if (site === '' || site.length > MAX_NAME * 4) throw refuse('not-found', UNKNOWN);
    return site;
  }

  function domainOf(site: string): string | null {
    return toALabelDomain(site.replace(/^mx:/, ''));
  }

  function mailFor(recipientDomains: readonly string[]) {
    return store.waitingQueues({
      ...{ recipientDomains, now: clock.now(), ageLimitsMs: [] },
      ...{ limit: MAX_QUEUES, rowsPerQueue: ROWS_PER_QUEUE },
    });
  }

  async function siteOf(site: string): Promise<Answer<typeof siteAnswer>> {
    const paths = traffic.paths().filter((path) => goesBy(path, site));
    const host = domainOf(site);
    const domains = new Set<string>(paths.flatMap((path) => path.domains));
    if (host !== null && !paths.some((path) => path.site === site)) domains.add(host);
    const waiting = await mailFor([...domains]);
    const reasons = new Map<string, WaitingReason>();
    const inMemory = traffic.waits.queues(({ recipientDomain }) => domains.has(recipientDomain));
    const queues = withMemory(waiting.queues, inMemory, clock.now(), []);
    for (const queue of queues) for (const reason of queueReasons(queue, traffic)) addReason(reasons, reason);

    const isProvider = traffic.isProvider(site);
    const relays = () => traffic.relays().filter(({ relay }) => goesByAny(paths, site, relay));
    const holds = traffic.holds
      .list()
      .filter(
        (hold) =>
          (hold.site === null || goesByAny(paths, site, hold.site)) &&
          (hold.recipientDomain === null || domains.has(hold.recipientDomain)),
      );
    const isNamed = relays().length > 0 || holds.some((hold) => hold.site !== null);
    if (paths.length === 0 && host === null && !isProvider && !isNamed) throw refuse('not-found', UNKNOWN);
    const found =
      paths.length > 0 || isProvider || host === null ? { provider: null } : await traffic.providerOf(host);
    const provider = paths[0]?.provider ?? (found === 'unclear' ? null : found.provider) ?? site;
    const route = isRelaySite(site) ? 'relay' : 'mx';
    const changes = await store.listPathChanges({
      sites: paths.length > 0 ? [...new Set(paths.map((path) => path.site))] : [site],
      since: clock.now() - HISTORY_MS,
      until: clock.now(),
      limit: MAX_CHANGES,
    });
    const count = queues.reduce((sum, queue) => sum + queue.waiting, 0);
    const note = count > 0 ? NOT_YET : UNUSED;
    return {
      Site: site,
      Note: paths.length > 0 ? '' : found === 'unclear' ? `${note}${UNCLEAR}` : note,
      // Those with a reason to wait first.
      Paths: paths
        .map((path) => path.snapshot())
        .sort((a, b) => Number(a.reason === null) - Number(b.reason === null))
        .map(toPath),
      // As they are now, as the paths: what one of them says of an attempt is true of the other.
      Relays: relays().map(toRelay),
      Limits:
        paths.length > 0
          ? []
          : toLimits(traffic.limitsFor({ source: '', site, provider, route, messagesLastDay: 0 })),
      Holds: holds.map(toHold),
      Waiting: count,
      Complete: !waiting.more && queues.every(({ complete }) => complete),
      Reasons: mostFirst(reasons).slice(0, MAX_REASONS).map(toReason),
      History: changes.map(({ at, source, until, reason }) => ({
        At: isoTime(at),
        Source: source,
        Until: isoTimeOrNull(until),
        Reason: reason,
      })),
    };
  }
}

function goesBy(path: PathRef, name: string): boolean {
  return path.provider === name || path.domains.includes(name) || siteNames(path.site).includes(name);
}

function goesByAny(paths: readonly PathRef[], site: string, name: string): boolean {
  return siteNames(site).includes(name) || paths.some((path) => goesBy(path, name));
}

/** Adds mail that a reply to it has put off: not what waits for its path, its turn or its time. */
function countOwn(sum: number, { reason, count }: WaitingReason): number {
  return reason === 'deferred' ? sum + count : sum;
}
