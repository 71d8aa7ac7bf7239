/**
 * Hints between the stores of one database, by NOTIFY. They have their own connection, because NOTIFY inside other
 * transactions would make all commits wait for each other. Everything noted within 50 ms is sent as one message. A
 * store knows that it receives hints while its own messages come back; this also detects poolers that drop LISTEN.
 */
import type { Clock, Timer } from '../../../lib/clock.ts';
import { createRounds } from '../../../lib/rounds.ts';
import { createSignal } from '../../../lib/signal.ts';
import type { OperationName } from '../../shared/operation.ts';
import type { Hint } from '../../topics/hints.ts';
import type { SuppressionChange } from '../../topics/suppressions.ts';
import type { Link } from './connections.ts';

/** Collects hints for this time. */
const SEND_MS = 50;
/** More queues than this are sent as 'all', because a message may have 8,000 octets. */
const MOST_QUEUES = 500;
const MOST_OCTETS = 7_900;
/** Of a large import, only these are sent, and that there are more. */
const MOST_SUPPRESSED = 2_000;
/**
 * Each store sends a message this often. If its own do not come back for `DEAF_MS`, it counts as not receiving hints.
 */
const ECHO_MS = 4_000;
const DEAF_MS = 10_000;
const CHANNEL = 'postrider';

/** Operations that change what other nodes keep in memory. */
const SETTINGS: ReadonlySet<OperationName> = new Set<OperationName>([
  'addHold',
  'releaseHolds',
  'putOverrides',
  'removeOverride',
  'addSandboxRule',
  'removeSandboxRules',
  'addDomain',
  'setDomainStatus',
  'updateDomain',
  'rotateDomainKey',
  'replaceRetiredKey',
  'removeDomain',
  'revokeToken',
  'endMadeWith',
  'rotateToken',
  'removeSmtpCredential',
  'updatePerson',
  'removePerson',
  'endSession',
]);

/** Operations after which rows may be due in queues that they do not name. */
const QUEUES: ReadonlySet<OperationName> = new Set<OperationName>([
  'hurry',
  'requeue',
  'reschedule',
  'reclaim',
  'strays',
  'refile',
]);

/** The hint for an operation. Its result says whether it changed anything. */
export function hintOf(name: OperationName, result: unknown): Partial<Hint> {
  if (result === 0 || result === false || result === null) return {};
  return {
    ...(SETTINGS.has(name) ? { settings: true } : {}),
    ...(QUEUES.has(name) ? { queues: 'all' as const } : {}),
  };
}

/** The content of a message: a hint, and suppressions that other stores apply to mail in their memory. */
type Changed = Partial<Hint> & { suppressed?: readonly SuppressionChange[] };

export interface Hints {
  /** This store has changed something; the others are told soon. */
  note(changed: Changed): void;
  onHint(listener: (hint: Hint) => void): () => void;
  hears(): boolean;
  close(): Promise<void>;
}

/** `self`: a text that no other store has. */
export function createHints(deps: {
  open(): Promise<Link>;
  clock: Clock;
  self: string;
  /** Others have added or removed these. */
  suppressed(changes: readonly SuppressionChange[]): void;
}): Hints {
  const { clock, self } = deps;
  const told = createSignal<Hint>();
  const noted = { queues: new Set<number>(), all: false, calls: false, settings: false, suppressions: false };
  let suppressed: readonly SuppressionChange[] = [];
  let link: Link | null = null;
  let heardMs = Number.NEGATIVE_INFINITY;
  let sending: Timer | null = null;
  let closed = false;
  let working: Promise<void> = Promise.resolve();
  const beats = createRounds({ clock, everyMs: ECHO_MS, work: () => run(send), failed() {} });

  const hears = (): boolean => clock.monotonicMs() - heardMs < DEAF_MS;
  // Also reconnects after the connection was lost.
  void beats.start();

  return {
    note(changed) {
      if (changed.queues === 'all') noted.all = true;
      else for (const id of changed.queues ?? []) noted.queues.add(id);
      if (noted.queues.size > MOST_QUEUES) noted.all = true;
      if (noted.all) noted.queues.clear();
      noted.calls ||= changed.calls === true;
      noted.settings ||= changed.settings === true;
      noteSuppressed([...suppressed, ...(changed.suppressed ?? [])]);
      if (!isEmpty()) sendSoon();
    },
    onHint: told.subscribe,
    hears,
    async close() {
      closed = true;
      sending?.cancel();
      await beats.stop();
      await working;
      // The other stores would otherwise find these changes later.
      if (!isEmpty()) await send().catch(() => undefined);
      await link?.end();
    },
  };

  function isEmpty(): boolean {
    const { all, queues, calls, settings, suppressions } = noted;
    return !all && queues.size === 0 && !calls && !settings && !suppressions && suppressed.length === 0;
  }

  function noteSuppressed(changes: readonly SuppressionChange[]): void {
    noted.suppressions ||= changes.length > MOST_SUPPRESSED;
    suppressed = changes.slice(0, MOST_SUPPRESSED);
  }

  function sendSoon(): void {
    if (closed) return;
    sending ??= clock.setTimer(SEND_MS, () => {
      sending = null;
      run(send);
    });
  }

  function run(work: () => Promise<void>): Promise<void> {
    // Other stores find changes by searching, and the next beat tries again.
    working = working.then(() => work()).catch(() => undefined);
    return working;
  }

  /** Sends what is noted. An empty message is only for this store, which checks that it comes back. */
  async function send(): Promise<void> {
    const open = await connected();
    const { queues, all, calls, settings, suppressions } = noted;
    const message = { from: self, queues: all ? 'all' : [...queues], calls, settings, suppressions };
    let text = JSON.stringify(message);
    if (text.length > MOST_OCTETS) text = JSON.stringify({ ...message, queues: 'all' });
    const told = suppressed.slice(0, fitting(suppressed, MOST_OCTETS - text.length));
    if (told.length > 0) text = `${text.slice(0, -1)},"suppressed":${JSON.stringify(told)}}`;
    queues.clear();
    Object.assign(noted, { all: false, calls: false, settings: false, suppressions: false });
    suppressed = suppressed.slice(told.length);
    try {
      await open.db.get('SELECT pg_notify($1, $2)', CHANNEL, text);
    } catch (error) {
      link = null;
      open.cut();
      noted.all ||= message.queues === 'all' || message.queues.length > 0;
      noted.calls ||= calls;
      noted.settings ||= settings;
      noted.suppressions ||= suppressions;
      noteSuppressed([...told, ...suppressed]);
      throw error;
    }
    if (suppressed.length > 0) sendSoon();
  }

  async function connected(): Promise<Link> {
    if (link !== null && !link.isBroken()) return link;
    const made = await deps.open();
    made.onNotice(hear);
    try {
      await made.exec(`SET synchronous_commit = off; LISTEN ${CHANNEL}`);
    } catch (error) {
      made.cut();
      throw error;
    }
    // What others have told since the last connection was lost did not arrive.
    heardMs = Number.NEGATIVE_INFINITY;
    link = made;
    return made;
  }

  function hear(text: string): void {
    const message = readMessage(text);
    if (message === null) return;
    if (message.from === self) {
      const wasDeaf = !hears();
      heardMs = clock.monotonicMs();
      // What others told meanwhile was lost.
      if (wasDeaf) tell({ queues: 'all', calls: true, settings: true, suppressions: true });
    } else {
      if (message.suppressed.length > 0) deps.suppressed(message.suppressed);
      const { queues, calls, settings, suppressions } = message;
      if (queues === 'all' || queues.length > 0 || calls || settings || suppressions) tell(message);
    }
  }

  function tell({ queues, calls, settings, suppressions }: Hint): void {
    told.notify({ queues, calls, settings, suppressions });
  }
}

/** How many of the changes fit into this many octets as JSON. */
function fitting(changes: readonly SuppressionChange[], octets: number): number {
  let left = octets - ',"suppressed":[]'.length;
  const over = changes.findIndex((change) => {
    left -= Buffer.byteLength(JSON.stringify(change)) + 1;
    return left < 0;
  });
  return over < 0 ? changes.length : over;
}

/** Other programs may use the channel too: a text that is not a valid hint is ignored. */
function readMessage(text: string): (Hint & { from: string; suppressed: SuppressionChange[] }) | null {
  try {
    const {
      from,
      queues,
      calls,
      settings,
      suppressions,
      suppressed = [],
    } = JSON.parse(text) as Record<string, unknown>;
    if (typeof from !== 'string' || !Array.isArray(suppressed)) return null;
    const isList = Array.isArray(queues) && queues.every((id) => Number.isSafeInteger(id));
    if (!isList && queues !== 'all') return null;
    return {
      ...{ from, queues: queues as Hint['queues'] },
      ...{ calls: calls === true, settings: settings === true, suppressions: suppressions === true },
      suppressed: suppressed.filter(isChange),
    };
  } catch {
    return null;
  }
}

function isChange(given: unknown): given is SuppressionChange {
  const { senderDomain, key, reason } = (given ?? {}) as Record<string, unknown>;
  return [senderDomain, key, reason].every((each) => typeof each === 'string');
}
