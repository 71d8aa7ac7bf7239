/**
 * When the operator, or a guard-rail, held a message's mail and released it, as entries of its timeline. A hold applies
 * to all mail that matches, so nothing is written to recipients: each hold is stored once, also for a time after it
 * ended, and added to a timeline on request.
 */
import type { Clock } from '../../../lib/clock.ts';
import { type HoldMatch, isFor, siteNames } from '../../../policy/limits/holds.ts';
import type { LimitStore, StoredHoldTime } from '../../../store/topics/limits.ts';
import type { MessageView, RecipientView } from '../../../store/topics/messages.ts';
import { sharedEntry } from './shared-entry.ts';
import type { TimelineEntry } from './timeline-entry.ts';
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
    const recipientDomain = address.slice(address.lastIndexOf('@') + 1);
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
