/**
 * Counts both ends and holds them against each other: what clients were told, what the server's
 * own API says became of every recipient, and what the far end took. `reckon` throws with the first item that does not
 * fit, and gives the figures where everything does.
 */
import { expect } from 'vitest';
import type { SmtpSink } from '../fakes/smtp-sink.ts';
import type { Posted } from './load.ts';
import type { ServerProcess } from './server-process.ts';

/** Final states of a recipient, as event kinds. */
const FINAL = ['delivered', 'bounced', 'failed', 'suppressed', 'canceled', 'rejected'];

interface EventPage {
  Events: {
    Event: string;
    Message: { Headers: { MessageId: string; Subject: string } };
    Recipient: string;
  }[];
}

export interface TimelineEntry {
  Event: string;
  Recipient: string | null;
  Reason: string;
  Reply: string;
  RemoteMta: string;
  NextAttemptAt: string | null;
  PossibleDuplicate: boolean;
  Bounce: { Type: string; Class: string; Scope: string; EnhancedCode: string; SmtpCode: number } | null;
}

export interface Figures {
  /** Requests that were answered 200. */
  acknowledged: number;
  messages: number;
  recipients: number;
  final: Record<string, number>;
  /** Copies beyond the first that the far end took. */
  duplicates: number;
  /** Recipients whose delivered event says PossibleDuplicate. */
  flagged: number;
}

/** All mail events so far, oldest first. */
export async function allEvents(
  server: ServerProcess,
): Promise<{ kind: string; messageId: string; subject: string; recipient: string }[]> {
  const all = [];
  // The newest first: from the oldest on, what others may still add to is left out for a while.
  for (let before: string | null = ''; before !== null; ) {
    const { status, headers, text } = await server.get(`/api/v1/events?RetrieveCount=100${before}`);
    if (status !== 200) throw new Error(`GET /events: ${status} ${text}`);
    const { Events } = JSON.parse(text) as EventPage;
    for (const { Event, Message, Recipient } of Events) {
      all.push({
        kind: Event,
        messageId: Message.Headers.MessageId,
        subject: Message.Headers.Subject,
        recipient: Recipient,
      });
    }
    const next = headers.get('x-next-before');
    before = next === null ? null : `&Before=${encodeURIComponent(next)}`;
  }
  return all.reverse();
}

/** Everything recorded about one message. */
export async function timeline(server: ServerProcess, messageId: string): Promise<readonly TimelineEntry[]> {
  const { Items } = await server.api<{ Items: TimelineEntry[] }>(`/email/${messageId}/events?Limit=100`);
  return Items;
}

/** Copies the far end took, by message id and recipient. */
export function copiesAt(sink: SmtpSink): Map<string, number> {
  const copies = new Map<string, number>();
  for (const message of sink.messages) {
    const id = /^Message-ID: <([0-9a-f-]{36})@example\.com>/im.exec(message.data.toString('latin1'))?.[1];
    for (const rcpt of message.rcpts) {
      const at = `${id ?? 'no Message-ID'} ${rcpt}`;
      copies.set(at, (copies.get(at) ?? 0) + 1);
    }
  }
  return copies;
}

/** Holds an empty queue's server, the far end and the clients' books against each other. */
export async function reckon(
  server: ServerProcess,
  sink: SmtpSink,
  posted: readonly Posted[],
): Promise<Figures> {
  const events = await allEvents(server);
  const copies = copiesAt(sink);
  const keys = new Map(posted.map((one) => [one.key, one]));
  const final = new Map<string, string[]>();
  const messageOfKey = new Map<string, Set<string>>();
  let accepted = 0;
  for (const { kind, messageId, subject, recipient } of events) {
    const at = `${messageId} ${recipient}`;
    if (kind === 'accepted') {
      accepted += 1;
      final.set(at, []);
      const ids = messageOfKey.get(subject) ?? new Set();
      messageOfKey.set(subject, ids.add(messageId));
    }
    if (FINAL.includes(kind)) final.get(at)?.push(kind);
  }

  // One message for one key, and the id the client was told.
  for (const [key, ids] of messageOfKey) {
    expect(keys.has(key), `nobody sent ${key}`).toBe(true);
    expect([...ids], `messages of ${key}`).toHaveLength(1);
  }
  let acknowledged = 0;
  for (const { key, recipients, messageId } of posted) {
    if (messageId === null) continue;
    acknowledged += 1;
    expect([...(messageOfKey.get(key) ?? [])], `the message of ${key}`).toEqual([messageId]);
    for (const recipient of recipients) {
      expect(final.has(`${messageId} ${recipient}`), `${key} to ${recipient} was accepted`).toBe(true);
    }
  }

  // Exactly one final state each; what is delivered is at the far end, and nothing else is.
  const counts: Record<string, number> = {};
  for (const [at, kinds] of final) {
    expect(kinds, `final states of ${at}`).toHaveLength(1);
    const [kind = ''] = kinds;
    counts[kind] = (counts[kind] ?? 0) + 1;
    if (kind === 'delivered') expect(copies.get(at) ?? 0, `copies of ${at}`).toBeGreaterThanOrEqual(1);
  }
  for (const at of copies.keys()) expect(final.has(at), `${at} was never accepted`).toBe(true);
  expect(Object.values(counts).reduce((sum, n) => sum + n, 0)).toBe(accepted);

  // A second copy only where the event says that there may be one.
  let duplicates = 0;
  let flagged = 0;
  const timelines = new Map<string, readonly TimelineEntry[]>();
  for (const [at, count] of copies) {
    if (count === 1) continue;
    duplicates += count - 1;
    const [messageId = '', recipient = ''] = at.split(' ');
    const entries = timelines.get(messageId) ?? (await timeline(server, messageId));
    timelines.set(messageId, entries);
    const delivered = entries.find((entry) => entry.Event === 'delivered' && entry.Recipient === recipient);
    expect(delivered?.PossibleDuplicate, `${at} arrived ${count} times`).toBe(true);
    flagged += 1;
  }
  return {
    acknowledged,
    messages: messageOfKey.size,
    recipients: accepted,
    final: counts,
    duplicates,
    flagged,
  };
}

/** Rows that a start took back from an earlier run. */
export function reclaimedRows(server: ServerProcess): number {
  const line = server.lines.find((one) => one.msg === 'took back what an earlier run held');
  return line === undefined ? 0 : Number(line.rows);
}
