/**
 * An entry of a timeline that belongs to no single message: it concerns all waiting mail, is stored once, and added to
 * timelines on request. It has the format of all others, without a recipient.
 */
import { createHash } from 'node:crypto';
import { EVENT_KINDS, type EventKind } from '../../../model/event.ts';
import { isoTime, isoTimeOrNull } from '../route.ts';
import type { TimelineEntry } from './timeline-entry.ts';

/**
 * `of` names what it happened to: with kind and time it makes the id, which is the same wherever the entry is shown.
 */
export function sharedEntry(
  kind: EventKind,
  of: string,
  { at, until, reason }: { at: number; until: number | null; reason: string },
): TimelineEntry {
  return {
    EventID: idOf(`${kind} ${of} ${at}`),
    Event: kind,
    At: isoTime(at),
    LogLevel: EVENT_KINDS[kind].logLevel,
    Recipient: null,
    Attempt: null,
    Route: null,
    Reason: reason,
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

/** A UUID of our own making (RFC 9562 §5.8). */
function idOf(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
