/**
 * When the ways of a message's recipients closed and opened while it waited, as entries of its timeline. A way that
 * closes concerns everything that waits for it, so nothing is written to any recipient: what happened to the way is kept
 * once, and put to a message when somebody looks.
 */
import { createHash } from 'node:crypto';
import { EVENT_KINDS } from '../../../model/event.ts';
import type { LimitStore, StoredPathChange } from '../../../store/topics/limits.ts';
import type { MessageView } from '../../../store/topics/messages.ts';
import type { TimelineEntry } from '../contract/answers/events.ts';
import { isoTime, isoTimeOrNull } from '../route.ts';
import type { Traffic } from './traffic.ts';

/** Recipient domains whose ways are looked at for one message. */
const MAX_DOMAINS = 20;
const MAX_ENTRIES = 100;

/** Entries from `from` on and before `to`, oldest first; none from after the last recipient came to its end. */
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
  const kind = reason === null ? 'path_unblocked' : 'path_blocked';
  const by = source === '' ? '' : ` from ${source}`;
  return {
    EventID: idOf(`${kind} ${source}>${site} ${at}`),
    Event: kind,
    At: isoTime(at),
    LogLevel: EVENT_KINDS[kind].logLevel,
    Recipient: null,
    Attempt: null,
    Route: null,
    Reason:
      reason === null ? `${site}${by} takes mail again` : `${site}${by}: ${reason.replace(/^path: /, '')}`,
    RemoteMta: '',
    Reply: '',
    Tls: '',
    DurationMs: null,
    NextAttemptAt: isoTimeOrNull(until),
    PossibleDuplicate: false,
    Bounce: null,
    Explanation: '',
    IPAddress: '',
    UserAgent: '',
    URL: '',
  };
}

/** The same change has the same id wherever it is shown: a UUID of our own making (RFC 9562 §5.8). */
function idOf(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
