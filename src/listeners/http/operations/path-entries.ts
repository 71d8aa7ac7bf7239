/**
 * When the paths of a message's recipients closed and opened while it waited, as entries of its timeline. A closed path
 * concerns all mail that waits for it, so nothing is written to recipients: each change is stored once, and added to a
 * timeline on request.
 */
import type { LimitStore, StoredPathChange } from '../../../store/topics/limits.ts';
import type { MessageView } from '../../../store/topics/messages.ts';
import { sharedEntry } from './shared-entry.ts';
import type { TimelineEntry } from './timeline-entry.ts';
import type { Traffic } from './traffic.ts';

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
  const domains = new Map(
    recipients.map(({ address, routeKey }) => [address.slice(address.lastIndexOf('@') + 1), routeKey]),
  );
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
