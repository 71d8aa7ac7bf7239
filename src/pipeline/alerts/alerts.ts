/**
 * Alerts of the operator. Once a minute asks what needs attention, and tells each problem once when it begins and once
 * when it is over: by a line of the log at once, and by an event with webhook calls and a mail, which are stored
 * together with the fact that it was told. A problem is told when it has lasted two minutes, and is over when it has been
 * gone for ten, so that one that comes and goes is told once. What is open is in the store: a restart, or another
 * process that takes over, tells nothing again. While the store cannot be written there is only the line of the log; the
 * rest follows.
 *
 *   seen ──2 min──► told (open) ──gone for 10 min──► told that it is over
 */
import type { Clock } from '../../lib/clock.ts';
import { uuidv7 } from '../../lib/ids.ts';
import type { Logger } from '../../lib/log.ts';
import type { Random } from '../../lib/random.ts';
import { createRounds } from '../../lib/rounds.ts';
import type { Service } from '../../lib/service.ts';
import type { NodeLease } from '../../model/node.ts';
import { OPERATOR_DOMAIN } from '../../model/webhook.ts';
import type { Store } from '../../store/store.ts';
import type { AlertKey, OpenAlert } from '../../store/topics/alerts.ts';
import type { NewEvent } from '../../store/topics/events.ts';
import type { AlertMailer } from './alert-mail.ts';
import type { AlertMetrics } from './alert-metrics.ts';

export interface Problem extends AlertKey {
  /** What is wrong, in a sentence. */
  message: string;
  /** What to do. */
  fix: string;
  /** A command that helps. */
  command: string | null;
  /** When it was there already, where that is stored; null: not known. It may have begun earlier. */
  since: number | null;
}

export interface Problems {
  /** Each kind and subject once. */
  items: readonly Problem[];
  /** Whether it is known that this is no problem any more. */
  isOver(alert: AlertKey): boolean;
}

export interface Alerts extends Service {
  /** Looks now; for tests and the service itself. */
  look(): Promise<void>;
}

interface Deps {
  store: Pick<Store, 'listAlerts' | 'changeAlerts'>;
  problems(): Promise<Problems>;
  mailer: AlertMailer;
  metrics: AlertMetrics;
  node: Pick<NodeLease, 'epoch'>;
  clock: Clock;
  random: Random;
  log: Logger;
  /** Called when events were stored: webhook calls may be due. */
  eventsStored(): void;
}

const LOOK_EVERY_MS = 60_000;
export const BEGINS_AFTER_MS = 120_000;
export const ENDS_AFTER_MS = 600_000;

/** A problem that is not stored yet. */
interface Seen extends Problem {
  since: number;
  seenAt: number;
  isLogged: boolean;
}

/** Nothing happens before `start`. `hostname` is named in mails. */
export function createAlerts(deps: Deps, { hostname }: { hostname: string }): Alerts {
  const { store, mailer, metrics, clock, random, log } = deps;
  const seen = new Map<string, Seen>();
  /** When each open alert was first found gone. */
  const gone = new Map<string, number>();
  const rounds = createRounds({
    clock,
    everyMs: LOOK_EVERY_MS,
    // Nothing can be due before, and the listeners, which are examined too, have started by then.
    firstAfterMs: LOOK_EVERY_MS,
    work: look,
    failed: (err) => log.warn({ err }, 'the operator could not be told of what needs attention; tried again'),
  });
  return {
    async start() {
      seen.clear();
      gone.clear();
      await rounds.start();
    },
    stop: rounds.stop,
    look,
  };

  async function look(): Promise<void> {
    const problems = await deps.problems();
    const open = await store.listAlerts();
    metrics.open(open);
    const began = dueToBegin(problems, new Set(open.map(keyOf)));
    for (const problem of began) {
      if (problem.isLogged) continue;
      const { kind, subject, message, fix } = problem;
      const since = new Date(problem.since).toISOString();
      log.error({ alert: kind, subject, fix, since }, `alert: ${message}`);
      problem.isLogged = true;
    }
    const ended = dueToEnd(problems, open);
    if (began.length + ended.length > 0) await tell(began, ended);
    await mailer.send();
  }

  function dueToBegin({ items }: Problems, open: ReadonlySet<string>): Seen[] {
    const now = clock.now();
    const present = new Map(items.map((problem) => [keyOf(problem), problem]));
    for (const [key, { isLogged }] of seen) {
      // What was in the log is told, even if it is over before it could be stored.
      if (open.has(key) || (!present.has(key) && !isLogged)) seen.delete(key);
    }
    for (const [key, problem] of present) {
      if (open.has(key)) continue;
      const before = seen.get(key);
      const { seenAt, isLogged, since } = before ?? {
        seenAt: now,
        isLogged: false,
        since: problem.since ?? now,
      };
      seen.set(key, { ...problem, since, seenAt, isLogged });
    }
    return [...seen.values()].filter(({ seenAt }) => now - seenAt >= BEGINS_AFTER_MS);
  }

  function dueToEnd(problems: Problems, open: readonly OpenAlert[]): (OpenAlert & { endedAt: number })[] {
    const now = clock.now();
    const over = open.filter(problems.isOver);
    const keys = new Set(over.map(keyOf));
    for (const key of gone.keys()) if (!keys.has(key)) gone.delete(key);
    for (const key of keys) if (!gone.has(key)) gone.set(key, now);
    return over
      .map((alert) => ({ ...alert, endedAt: gone.get(keyOf(alert)) ?? now }))
      .filter(({ endedAt }) => now - endedAt >= ENDS_AFTER_MS);
  }

  async function tell(
    began: readonly Seen[],
    ended: readonly (OpenAlert & { endedAt: number })[],
  ): Promise<void> {
    const at = clock.now();
    const event = (
      { kind, subject, message, since }: OpenAlert,
      { fix = '', endedAt = null }: { fix?: string; endedAt?: number | null },
    ): NewEvent => ({
      ...{ id: uuidv7(clock, random), kind: 'operator.alert', at },
      detail: { reason: message, alert: { kind, subject, fix, since, endedAt } },
    });
    const isStored = await store.changeAlerts({
      epoch: deps.node.epoch,
      began: began.map(({ kind, subject, message, since }) => ({ kind, subject, message, since })),
      ended,
      domain: OPERATOR_DOMAIN,
      events: [...began.map((one) => event(one, one)), ...ended.map((one) => event(one, one))],
      mail: mailer.wants()
        ? { id: uuidv7(clock, random), at, ...alertMailText(hostname, began, ended) }
        : null,
    });
    deps.eventsStored();
    // Told by another process: the next look reads what it stored.
    if (!isStored) return;
    for (const one of began) seen.delete(keyOf(one));
    for (const { kind, subject, message, since, endedAt } of ended) {
      gone.delete(keyOf({ kind, subject }));
      log.info({ alert: kind, subject, message, lastedAtLeastMs: endedAt - since }, 'an alert is over');
    }
  }
}

function keyOf({ kind, subject }: AlertKey): string {
  return `${kind} ${subject}`;
}

const MAX_SUBJECT = 200;
const MINUTE_MS = 60_000;

type Began = OpenAlert & { fix: string; command: string | null };
type Ended = OpenAlert & { endedAt: number };

/** The mail about alerts that begin and that are over: one for all of one look. At least one of them is not empty. */
function alertMailText(
  hostname: string,
  began: readonly Began[],
  ended: readonly Ended[],
): { subject: string; text: string } {
  const [first] = [...began, ...ended];
  const total = began.length + ended.length;
  const about = oneLine(first?.message ?? '');
  const over = began.length === 0 ? 'Over: ' : '';
  const more = total > 1 ? ` (and ${total - 1} more)` : '';
  const parts = [
    ...began.map(beganText),
    ...ended.map(endedText),
    `What else needs attention: postrider status\nThis is postrider on ${hostname}. You get one mail when a problem begins, and one when it is over.`,
  ];
  return {
    subject: `[${hostname}] ${over}${about}`.slice(0, MAX_SUBJECT) + more,
    text: `${parts.join('\n\n')}\n`,
  };
}

function beganText({ message, fix, command, since }: Began): string {
  return [
    oneLine(message),
    `Since at least: ${new Date(since).toISOString()}`,
    ...(fix === '' ? [] : [`What to do: ${oneLine(fix)}`]),
    ...(command === null ? [] : [`Command: ${oneLine(command)}`]),
  ].join('\n');
}

function endedText({ message, since, endedAt }: Ended): string {
  return `Over since ${new Date(endedAt).toISOString()}, after at least ${lasted(endedAt - since)}: ${oneLine(message)}`;
}

/** `3 d 4 h`, `2 h 5 min`, `7 min`. */
function lasted(ms: number): string {
  const minutes = Math.max(1, Math.round(ms / MINUTE_MS));
  const [days, hours] = [Math.floor(minutes / 1440), Math.floor((minutes % 1440) / 60)];
  if (days > 0) return `${days} d ${hours} h`;
  return hours > 0 ? `${hours} h ${minutes % 60} min` : `${minutes} min`;
}

/** Replies of other servers may be in it. */
function oneLine(text: string): string {
  return text.replace(/\p{Cc}+/gu, ' ').trim();
}
