/**
 * Items of `GET /attention`: each kind of problem, from the part that knows it, as sentences with a fix; a limited
 * number of each kind. The number of affected recipients comes from stored counts, over the queues that are due
 * first.
 */

import { relayOfSite } from '../../../model/route.ts';
import { redirectAdvice, type Webhook } from '../../../model/webhook.ts';
import type { PathRef } from '../../../pipeline/deliver/path/state.ts';
import type { DomainCheck } from '../../../policy/domains/doctor/check.ts';
import { checksOf, heldFrom } from '../../../policy/domains/domain-status.ts';
import { type GuardStanding, isGuardHold } from '../../../policy/limits/guard-rails.ts';
import { type Hold, isFor } from '../../../policy/limits/holds.ts';
import type { WarmupView } from '../../../policy/limits/warmup/warmup.ts';
import type { Store } from '../../../store/store.ts';
import type { FailingDomain } from '../../../store/topics/domains.ts';
import type { NodeRow } from '../../../store/topics/nodes.ts';
import type { WaitingCount } from '../../../store/topics/queue.ts';
import type { HttpDeps, ServerProblem } from '../deps.ts';
import { isoTime, isoTimeOrNull } from '../route.ts';
import {
  type AttentionAnswer,
  type AttentionItem,
  MAX_OF_A_KIND,
  NOTHING_ELSE,
  SHOWN_REPLY,
  sentence,
} from './attention-answer.ts';
import { mergedRelays, relayItemOf, relayItems, siteItems } from './attention-paths.ts';
import type { Traffic } from './traffic.ts';
import { waitingMail } from './waiting-mail.ts';

export interface AttentionDeps
  extends Pick<HttpDeps, 'store' | 'warmup' | 'problems' | 'leadsOut' | 'nodes' | 'clock'> {
  traffic: Pick<Traffic, 'paths' | 'pathOf' | 'relays' | 'holds' | 'waits'>;
  guard: Pick<HttpDeps['guard'], 'warned'>;
  doctor: Pick<HttpDeps['doctor'], 'lastInstance'>;
}

/** What the caller may see. */
export interface AttentionView {
  domains?: readonly string[];
  mayDomains: boolean;
  mayWebhooks: boolean;
  /** Everything about the server and its traffic. */
  isOperator: boolean;
}

/** Recipients that wait, by what they wait for. */
type Counted = (fits: (queue: WaitingCount) => boolean) => number;

/** A call that fails while a receiver restarts is normal: it is made again after five seconds. */
const FAILING_MS = 60_000;
const AWAY_FOR_GOOD_MS = 86_400_000;
/** A relay's check is named by its address behind this. */
const RELAY_CHECK = 'relay ';

export async function gatherAttention(deps: AttentionDeps, view: AttentionView): Promise<AttentionAnswer> {
  const { kinds: lasting, counted, complete, examinedAt } = await gatherKinds(deps, view);
  const kinds = [
    ...lasting,
    view.mayDomains ? await unverifiedItems(deps, view.domains) : [],
    view.isOperator ? countingItems(await deps.store.countSummed()) : [],
  ];
  return {
    Items: kinds.flatMap((items) => items.slice(0, MAX_OF_A_KIND)).sort(worstFirst),
    More: kinds.some((items) => items.length > MAX_OF_A_KIND),
    Waiting: {
      critical: counted(({ lane }) => lane === 'critical'),
      normal: counted(({ lane }) => lane === 'normal'),
      bulk: counted(({ lane }) => lane === 'bulk'),
    },
    Complete: complete,
    ExaminedAt: isoTimeOrNull(examinedAt),
  };
}

/** Items of each kind; one more than is shown, if there are more. */
export async function gatherKinds(deps: AttentionDeps, view: AttentionView) {
  const { store, traffic, guard, clock } = deps;
  const now = clock.now();
  const visible = view.domains === undefined ? {} : { domains: view.domains };
  const own = view.domains === undefined ? null : new Set(view.domains);
  const owns = (domain: string | null) => own?.has(domain ?? '') ?? true;
  const limit = MAX_OF_A_KIND + 1;
  const [counts, domains, webhooks, problems, nodes] = await Promise.all([
    waitingMail(deps, visible),
    view.mayDomains ? store.failingDomains({ ...visible, limit }) : [],
    view.mayWebhooks ? store.failingWebhooks({ ...visible, limit }) : [],
    view.isOperator ? deps.problems() : [],
    view.isOperator ? store.listNodes({ limit: deps.nodes() + limit }) : [],
  ]);
  const { queues } = counts;
  const counted: Counted = (fits) =>
    queues.reduce((sum, queue) => (fits(queue) ? sum + queue.waiting : sum), 0);
  const holds = traffic.holds
    .list()
    .filter((hold) => view.isOperator || (view.mayDomains && hold.senderDomain !== null && isGuardHold(hold)))
    .filter(({ senderDomain }) => owns(senderDomain) || (view.isOperator && view.domains === undefined))
    .slice(0, limit);
  const instance = view.isOperator ? await deps.doctor.lastInstance() : null;
  const warned = view.mayDomains ? guard.warned().filter(({ domain }) => owns(domain)) : [];
  const noDns = problems.some(({ name, detail }) => name === 'resolver' && detail !== '');
  const sites = view.isOperator ? await siteItems(deps, queues, now, noDns) : [];
  const told = eachOnce(problems);
  const checks = (instance?.checks ?? [])
    .flatMap(checkItem(instance?.at ?? now))
    .filter((item) => !isOutdated(item, traffic.paths()) && !isToldBy(item, problems));
  const relays = mergedRelays([...(view.isOperator ? await relayItems(deps, now) : []), ...sites, ...checks]);
  const isOther = ({ Kind }: AttentionItem) => Kind !== 'relay';
  const kinds: readonly (readonly AttentionItem[])[] = [
    [...told.flatMap(serverItem), ...checks.filter(isOther), ...lostNodes(nodes, now).map(lostNodeItem)],
    domains.map((domain) => domainItem(domain, now)),
    warned.map(guardItem),
    sites.filter(isOther),
    relays,
    webhooks.filter((webhook) => isLasting(webhook, now)).map(webhookItem),
    holds.map((hold) => holdItem(hold, counted, view.isOperator)),
    view.isOperator ? deps.warmup.list().filter(isUsedUp).map(warmupItem) : [],
  ];
  const examinedAt = instance?.at ?? null;
  return { kinds, counted, complete: !counts.more, examinedAt, asked: told.map(({ name }) => name) };
}

/** Of this server: no mail is taken, or none is sent, whatever else fails. */
function stopsAll({ Kind, Subject }: AttentionItem): boolean {
  return Kind === 'server' && ['store', 'acceptance', 'outgoing', 'connections'].includes(Subject);
}

function worstFirst(a: AttentionItem, b: AttentionItem): number {
  return (
    Number(b.Severity === 'Failing') - Number(a.Severity === 'Failing') ||
    Number(stopsAll(b)) - Number(stopsAll(a)) ||
    (b.Waiting ?? 0) - (a.Waiting ?? 0) ||
    (a.Since ?? '').localeCompare(b.Since ?? '')
  );
}

const EXAMINE = {
  Action: { Label: 'Check again', Method: 'GET', Path: '/doctor', Body: {} },
  Command: 'postrider doctor',
} as const;

/** Checks whose warning means a future failure; other warnings may stay. */
const WARNED_OF = new Set(['clock', 'disk', 'returns', 'https', 'links', 'port25', 'database']);
/** Problems with which mail goes on as it should, only slower or for now. */
const PASSING = new Set(['clock', 'store-speed', 'log']);
const SERVER_FIXES: Readonly<Record<string, string>> = {
  store:
    'Look at the disk of the database, at what else uses the database, and at the log. Mail is refused until it can be written.',
  'store-speed':
    'Look at the disk of the database, and at what else uses it or the machine. Mail goes on, slowly.',
  'store-damage':
    'If the log of the system has errors of its disk (journalctl -k), look at that first. Otherwise stop the server, keep a copy of its data folder, and restore a backup, or recover what is left with .recover of sqlite3. Until then, everything that needs the damaged part fails.',
  'store-loss':
    'If the database was put back on purpose, hold the mail that waits (postrider queue hold --all). The log of each node says which messages were accepted: let the applications send those that are missing again. This notice ends after a day.',
  log: 'Make room on its disk, or restart the server where what read the log has ended, or its file was removed. Mail goes on.',
  acceptance: 'If it is the disk, make room on it, or shorten retention. New mail is refused until then.',
  outgoing:
    'Ask the provider of the machine to open port 25 outwards, or send through a relay (key `route`).',
  connections: 'Do what it says. The mail is kept, and goes on by itself.',
  resolver:
    'Correct the key `dns`, or the resolvers of the system. Mail to domains that are not known waits, and goes on by itself.',
  clock: 'If it is wrong, set it right, and keep it right by NTP. If it is right, nothing is to be done.',
  node: 'Do what it says, or look at the log. While this process sends nothing, another may send its mail.',
  returns: 'Make room on the disk of the data folder. Bounces and complaints are refused until then.',
};

/** Where the database cannot be written, nothing is accepted for that reason. */
function eachOnce(problems: readonly ServerProblem[]): readonly ServerProblem[] {
  const store = problems.find(({ name, ok }) => name === 'store' && !ok);
  return problems.filter(({ name, detail }) => name !== 'acceptance' || detail !== store?.detail);
}

function serverItem({ name, ok, detail }: ServerProblem): AttentionItem[] {
  if (ok && detail === '') return [];
  return [
    {
      ...NOTHING_ELSE,
      ...{ Kind: 'server', Severity: ok && PASSING.has(name) ? 'Warning' : 'Failing' },
      ...{ Subject: name, Message: sentence(detail) },
      Fix: SERVER_FIXES[name] ?? 'Look at the log.',
    },
  ];
}

/** Nodes that ended without stopping and have not come back, until they have been away so long that they will not. */
function lostNodes(rows: readonly NodeRow[], now: number): NodeRow[] {
  return rows.filter((row) => {
    const isAgain = (other: NodeRow) =>
      other.epoch !== row.epoch &&
      (other.nodeId === row.nodeId || other.host === row.host) &&
      other.startedAt > row.heartbeatAt;
    return row.lost && now - (row.endedAt ?? now) < AWAY_FOR_GOOD_MS && !rows.some(isAgain);
  });
}

function lostNodeItem({ host, nodeId, endedAt }: NodeRow): AttentionItem {
  return {
    ...NOTHING_ELSE,
    ...{ Kind: 'server', Severity: 'Warning', Subject: `node ${nodeId}` },
    Message: `The node ${host} was lost: it was killed, crashed or was silent for too long. The others do its work, except for its own sources.`,
    Fix: 'Look at its machine and its log, and start it again. If it was removed, this ends after a day.',
    ...{ Since: isoTimeOrNull(endedAt), Command: 'postrider nodes' },
  };
}

function checkItem(at: number): (check: DomainCheck) => AttentionItem[] {
  return ({ id, severity, message, fix }) =>
    severity !== 'fail' && !(severity === 'warn' && WARNED_OF.has(id))
      ? []
      : [
          {
            ...{ ...NOTHING_ELSE, ...EXAMINE },
            ...(relayItemOf(id.startsWith(RELAY_CHECK) ? id.slice(RELAY_CHECK.length) : null) ?? {
              Kind: 'server',
              Subject: id,
            }),
            ...{ Severity: severity === 'fail' ? 'Failing' : 'Warning' },
            ...{ Message: message, Fix: fix, Since: isoTime(at) },
          },
        ];
}

/** By the server's own check of that name, or a full disk where nothing is accepted because of it. */
function isToldBy({ Kind, Subject }: AttentionItem, problems: readonly ServerProblem[]): boolean {
  const isNamed = ({ name, ok, detail }: ServerProblem) =>
    name === Subject ? !ok || detail !== '' : name === 'acceptance' && Subject === 'disk' && !ok;
  return Kind === 'server' && problems.some(isNamed);
}

/** The check of a relay that has taken mail since. */
function isOutdated({ Kind, Subject, Since }: AttentionItem, paths: readonly PathRef[]): boolean {
  if (Kind !== 'relay' || Since === null) return false;
  return paths.some(
    (path) =>
      relayOfSite(path.site) === Subject && (path.snapshot().lastSuccess?.at ?? 0) > Date.parse(Since),
  );
}

function domainItem(domain: FailingDomain, now: number): AttentionItem {
  const { name, status, failingSince, updatedAt, unfinished } = domain;
  const isSuspended = status === 'Suspended';
  const checks = checksOf(domain) ?? [];
  const worst = checks.find(({ severity, blocks }) => severity === 'fail' && blocks === true);
  const held = heldFrom(domain);
  const isHeld = isSuspended || (held !== null && held <= now);
  const what = isSuspended
    ? `${name} is suspended.`
    : `${name} fails its checks.${worst === undefined ? '' : ` ${worst.message}`}`;
  return {
    ...{ Kind: 'domain', Severity: isHeld ? 'Failing' : 'Warning', Subject: name },
    Message: `${what} ${isHeld ? 'Its mail is held.' : 'Its mail still leaves, for two days after the first failure.'}`,
    Fix: isSuspended
      ? 'Only the operator lets it send again.'
      : worst === undefined
        ? 'Publish its DNS records as shown with the domain.'
        : `${worst.fix} Its records are shown with the domain.`,
    ...{ Since: isoTime(failingSince ?? updatedAt), Until: null, Waiting: unfinished },
    Action: checkDomain(name),
    Command: `postrider doctor ${name}`,
  };
}

/**
 * If no domain is verified, nothing can be sent at all. Where there are many, or one is verified, the others are their
 * owners' business.
 */
async function unverifiedItems(
  { store, leadsOut }: Pick<AttentionDeps, 'store' | 'leadsOut'>,
  visible: readonly string[] | undefined,
): Promise<AttentionItem[]> {
  const domains = await store.listDomains({
    ...(visible === undefined ? {} : { domains: visible }),
    limit: MAX_OF_A_KIND + 1,
  });
  if (domains.length > MAX_OF_A_KIND || domains.some(({ status }) => status !== 'Pending')) return [];
  const sends = ({ name }: { name: string }) =>
    leadsOut({ senderDomain: name, recipientDomain: '', lane: 'normal', tags: [] });
  return domains.filter(sends).map(({ name, createdAt }) => ({
    ...{ Kind: 'domain', Severity: 'Warning', Subject: name },
    Message: `${name} is not verified yet: mail from it is refused.`,
    Fix: 'Publish its DNS records, then have them checked.',
    ...{ Since: isoTime(createdAt), Until: null, Waiting: null },
    Action: checkDomain(name),
    Command: `postrider domain verify ${name}`,
  }));
}

/** Events that are not added up yet, with which statistics are still answered: half a second of the searching reader. */
export const MAX_UNSUMMED = 200_000;

/** What an operator reads while statistics are refused because so many events are not added up; '' where they are not. */
export function countingText({ summed, events }: Awaited<ReturnType<Store['countSummed']>>): string {
  if (events - summed <= MAX_UNSUMMED) return '';
  const millions = (count: number) => (count / 1e6).toFixed(1);
  return `Events are still being counted after an upgrade: ${millions(summed)} of ${millions(events)} million so far`;
}

/** For some minutes or hours after an upgrade; nobody has to be told who does not look. */
function countingItems(progress: Awaited<ReturnType<Store['countSummed']>>): AttentionItem[] {
  const text = countingText(progress);
  if (text === '') return [];
  return [
    {
      ...NOTHING_ELSE,
      ...{ Kind: 'server', Severity: 'Warning', Subject: 'statistics', Message: sentence(text) },
      Fix: 'Nothing is to be done: statistics are shown when it has ended. Mail goes on.',
    },
  ];
}

function checkDomain(name: string): AttentionItem['Action'] {
  return {
    Label: 'Check now',
    Method: 'POST',
    Path: `/domains/${encodeURIComponent(name)}/verify`,
    Body: {},
  };
}

function guardItem({ domain, standing }: { domain: string; standing: GuardStanding }): AttentionItem {
  return {
    ...NOTHING_ELSE,
    ...{ Kind: 'guard-rail', Severity: 'Warning', Subject: domain },
    Message: `${domain} is about to have its bulk mail held. ${standing.reason}`,
    Fix: 'Remove the addresses that bounce or complain, and write only to people who asked for it.',
  };
}

function isLasting({ status, failingSince, lastResponseTry }: Webhook, now: number): boolean {
  if (status === 'Disabled') return true;
  return failingSince !== null && (lastResponseTry > 1 || now - failingSince >= FAILING_MS);
}

const OFF_BECAUSE = {
  User: 'by hand',
  Gone: 'because its receiver answered 410 Gone',
  Failures: 'because its calls failed for too long',
  Blocked: 'because its address leads to a network that may not be called',
} as const;

function webhookItem(webhook: Webhook & { waiting: number }): AttentionItem {
  const { id, url, status, disabledReason, failingSince, updatedAt } = webhook;
  const isOff = status === 'Disabled';
  const said = lastAnswer(webhook);
  return {
    ...{ Kind: 'webhook', Severity: isOff ? 'Failing' : 'Warning', Subject: String(id) },
    Message: isOff
      ? `The webhook ${url} was switched off ${OFF_BECAUSE[disabledReason ?? 'User']}. ${said}`
      : `Calls of the webhook ${url} fail. ${said}`,
    Fix: isOff
      ? 'Mend the receiver, then enable the webhook: the calls of the last 72 hours are made.'
      : 'Mend the receiver, or give the webhook another URL, and test it. Calls are tried again by themselves, after minutes to a day; enabling the webhook makes those that wait now.',
    ...{ Since: isoTime(failingSince ?? updatedAt), Until: null, Waiting: webhook.waiting },
    Action: isOff
      ? { Label: 'Enable', Method: 'PATCH', Path: `/webhooks/${id}`, Body: { Status: 'Enabled' } }
      : { Label: 'Test now', Method: 'POST', Path: `/webhooks/${id}/test`, Body: {} },
    Command: `postrider webhook test ${id}`,
  };
}

/** A sentence: what the receiver answered to the last call, or why it gave no answer. */
function lastAnswer({ lastError, lastResponseCode, lastResponseBody }: Webhook): string {
  if (lastError !== '') return sentence(`No answer: ${lastError.slice(0, SHOWN_REPLY)}`);
  const advice = redirectAdvice(lastResponseCode);
  const body = advice === '' ? lastResponseBody.replaceAll(/\s+/g, ' ').trim().slice(0, SHOWN_REPLY) : '';
  const said = `Last answer: HTTP status ${lastResponseCode}${advice}`;
  return sentence(body === '' ? said : `${said}, “${body.toWellFormed()}”`);
}

function holdItem(hold: Hold, counted: Counted, mayRelease: boolean): AttentionItem {
  const isGuard = isGuardHold(hold);
  const of = [
    ...(hold.lane === null ? [] : [`of priority ${hold.lane}`]),
    ...(hold.senderDomain === null ? [] : [`from ${hold.senderDomain}`]),
    ...(hold.recipientDomain === null ? [] : [`to ${hold.recipientDomain}`]),
    ...(hold.site === null ? [] : [`to ${hold.site}`]),
  ].join(' ');
  return {
    ...{ Kind: isGuard ? 'guard-rail' : 'hold', Severity: isGuard ? 'Failing' : 'Warning' },
    Subject: hold.id,
    Message: sentence(`${of === '' ? 'All mail' : `Mail ${of}`} is held: ${hold.reason}`),
    Fix: isGuard
      ? 'Remove the addresses that bounce or complain, then release the hold.'
      : 'Release it when the reason is over. Held mail still expires.',
    ...{ Since: isoTime(hold.createdAt), Until: isoTimeOrNull(hold.until) },
    // A queue does not say which of its mail goes to a site.
    Waiting: hold.site === null ? counted((queue) => isFor(hold, queue)) : null,
    Action: mayRelease
      ? { Label: 'Release', Method: 'POST', Path: '/queue/release', Body: { HoldID: hold.id } }
      : null,
    Command: mayRelease ? `postrider queue release ${hold.id}` : null,
  };
}

function isUsedUp({ budget, used, blockedToday }: WarmupView): boolean {
  return budget !== null && (used >= budget || blockedToday > 0);
}

function warmupItem({ source, provider, budget, used, blockedToday }: WarmupView): AttentionItem {
  const blocked =
    blockedToday > 0
      ? ` ${provider} refused ${blockedToday.toLocaleString('en-US')} for the source’s reputation today.`
      : '';
  return {
    ...NOTHING_ELSE,
    ...{ Kind: 'warm-up', Severity: 'Warning', Subject: `${source} ${provider}` },
    Message: `The new source ${source} sent ${used.toLocaleString('en-US')} of the ${(budget ?? 0).toLocaleString('en-US')} messages that ${provider} may get in 24 hours.${blocked}`,
    Fix: 'More goes as older messages leave the 24 hours. Send less, or from another source.',
    Command: 'postrider warmup',
  };
}
