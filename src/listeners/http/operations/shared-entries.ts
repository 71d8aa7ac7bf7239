/**
 * Entries of a timeline that belong to no single message: when its mail was held and released, by the operator or a
 * guard-rail, and when the paths of its recipients closed and opened while it waited. Both concern all mail that
 * matches or waits, so nothing is written to recipients: each is stored once, also for a time after it ended, and added
 * to a timeline on request.
 */

import { createHash } from 'node:crypto';
import type { Clock } from '../../../lib/clock.ts';
import { domainOfAddress } from '../../../mail/address-text.ts';
import type { EventKind } from '../../../model/event.ts';
import { type HoldMatch, isFor, siteNames } from '../../../policy/limits/holds.ts';
import type { LimitStore, StoredHoldTime, StoredPathChange } from '../../../store/topics/limits.ts';
import type { MessageView, RecipientView } from '../../../store/topics/messages.ts';
import { type TimelineEntry, toTimelineEntry } from './timeline-entry.ts';
import type { Traffic } from './traffic.ts';

/** Holds examined for one message; the newest. */
const MAX_HOLDS = 100;
/** Recipient domains whose site is looked up, for holds with a site. */
const MAX_SITES = 20;

/** The recipients of a message with one domain and one route. */
interface Group {
  recipientDomain: string;
  routeKey: string;
  /** When the last of them became final; Infinity = one waits. */
  endedAt: number;
}

/** `held` and `released` between `from` and `to`, oldest first. Only what applied to a waiting recipient. */
export async function holdEntries(
  deps: { store: Pick<LimitStore, 'listPastHolds'>; traffic: Pick<Traffic, 'sitesOf'>; clock: Clock },
  message: MessageView,
  from: number,
  to: number,
): Promise<TimelineEntry[]> {
  const { domain: senderDomain, lane, createdAt } = message;
  const holds = await deps.store.listPastHolds({
    ...{ senderDomain, lane, since: Math.max(from, createdAt), until: to, limit: MAX_HOLDS },
  });
  if (holds.length === 0) return [];
  const groups = groupsOf(message.recipients);
  const sites = new Map<Group, readonly string[]>();
  if (holds.some(({ site }) => site !== null)) {
    const asked = groups.slice(0, MAX_SITES).map(async (group) => {
      const { recipientDomain, routeKey } = group;
      const names = await deps.traffic.sitesOf({ senderDomain, recipientDomain, lane, routeKey });
      sites.set(group, names.flatMap(siteNames));
    });
    await Promise.all(asked);
  }
  return [...holds].reverse().flatMap((hold) => {
    const heldAt = Math.max(hold.createdAt, createdAt);
    const endedAt = hold.releasedAt ?? hold.until ?? Number.POSITIVE_INFINITY;
    const waiting = groups.filter(
      (group) =>
        group.endedAt > heldAt &&
        isFor(hold, {
          ...{ senderDomain, lane, recipientDomain: group.recipientDomain, sites: sites.get(group) ?? [] },
        }),
    );
    if (waiting.length === 0 || endedAt <= createdAt) return [];
    const shown = (at: number) => at >= from && at < to;
    const entries = shown(heldAt) ? [held(hold, heldAt)] : [];
    const letGo = endedAt <= deps.clock.now() && waiting.some((group) => group.endedAt >= endedAt);
    return letGo && shown(endedAt) ? [...entries, released(hold, endedAt)] : entries;
  });
}

function groupsOf(recipients: readonly RecipientView[]): Group[] {
  const groups = new Map<string, Group>();
  for (const { address, routeKey, state, updatedAt } of recipients) {
    const recipientDomain = domainOfAddress(address);
    const key = `${recipientDomain} ${routeKey}`;
    const endedAt = state === 'queued' || state === 'sending' ? Number.POSITIVE_INFINITY : updatedAt;
    groups.set(key, {
      ...{ recipientDomain, routeKey, endedAt: Math.max(endedAt, groups.get(key)?.endedAt ?? 0) },
    });
  }
  return [...groups.values()];
}

function held(hold: StoredHoldTime, at: number): TimelineEntry {
  return sharedEntry('held', hold.id, { at, until: hold.until, reason: `${whose(hold)}${hold.reason}` });
}

function released(hold: StoredHoldTime, at: number): TimelineEntry {
  const how = hold.releasedAt === null ? 'its time is over: ' : 'released: ';
  return sharedEntry('released', hold.id, { at, until: null, reason: `${whose(hold)}${how}${hold.reason}` });
}

/** Named if a hold does not apply to the whole message. */
function whose({ recipientDomain, site }: HoldMatch): string {
  const to = recipientDomain ?? site;
  return to === null ? '' : `mail to ${to}: `;
}

/**
 * In the format of all others, without a recipient. `of` names what it happened to: with kind and time it makes the id,
 * which is the same wherever the entry is shown.
 */
function sharedEntry(
  kind: EventKind,
  of: string,
  { at, until, reason }: { at: number; until: number | null; reason: string },
): TimelineEntry {
  const event = {
    ...{ id: idOf(`${kind} ${of} ${at}`), kind, at, recipient: null, route: null },
    detail: { reason, ...(until === null ? {} : { nextAttemptAt: until }) },
  };
  return toTimelineEntry(event, false);
}

/** A UUID of our own making (RFC 9562 §5.8). */
function idOf(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

/** Recipient domains whose paths are examined for one message. */
const MAX_DOMAINS = 20;
const MAX_ENTRIES = 100;

/** Entries between `from` and `to`, oldest first; none after the last recipient became final. */
export async function pathEntries(
  deps: { store: Pick<LimitStore, 'listPathChanges'>; traffic: Pick<Traffic, 'sitesOf'> },
  message: MessageView,
  from: number,
  to: number,
): Promise<TimelineEntry[]> {
  const { domain: senderDomain, lane, createdAt, recipients } = message;
  if (message.sandbox) return [];
  const waits = recipients.some(({ state }) => state === 'queued' || state === 'sending');
  const ended = Math.max(0, ...recipients.map(({ updatedAt }) => updatedAt)) + 1;
  const since = Math.max(from, createdAt);
  const end = waits ? to : Math.min(to, ended);
  if (since >= end) return [];
  const domains = new Map(recipients.map(({ address, routeKey }) => [domainOfAddress(address), routeKey]));
  const asked = [...domains]
    .slice(0, MAX_DOMAINS)
    .map(([recipientDomain, routeKey]) =>
      deps.traffic.sitesOf({ senderDomain, recipientDomain, lane, routeKey }),
    );
  const sites = (await Promise.all(asked)).flat();
  if (sites.length === 0) return [];
  const changes = await deps.store.listPathChanges({ sites, since, until: end - 1, limit: MAX_ENTRIES });
  return [...changes].reverse().map(toEntry);
}

function toEntry({ source, site, at, until, reason }: StoredPathChange): TimelineEntry {
  const by = source === '' ? '' : ` from ${source}`;
  const said =
    reason === null ? `${site}${by} takes mail again` : `${site}${by}: ${reason.replace(/^path: /, '')}`;
  const facts = { at, until, reason: said };
  return sharedEntry(reason === null ? 'path_unblocked' : 'path_blocked', `${source}>${site}`, facts);
}
