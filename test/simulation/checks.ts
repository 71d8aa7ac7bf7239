/**
 * The promises of the delivery engine, held against the store and against what the far ends saw. Given a database that
 * may be read beside the engine; leaves sentences, one for each promise that was broken.
 */
import { uuidText } from '../../src/lib/ids.ts';
import { TERMINAL_STATES } from '../../src/model/delivery.ts';
import { eventKindOf } from '../../src/model/event.ts';
import type { PathSnapshot, PathsView } from '../../src/pipeline/deliver/path/state.ts';
import type { Wire } from '../../src/simulation/wire.ts';
import { stateCode } from '../../src/store/shared/codes.ts';
import { ERASED } from '../../src/store/shared/erased.ts';
import type { Connection } from '../../src/store/sqlite/engine/connection.ts';

/** What the world knows of its own doings. */
export interface Diary {
  /** Monotonic periods in which a process stood still; of no length: it died without a word. */
  crashes: { fromMs: number; untilMs: number }[];
  /** Periods in which the store could not write. */
  outages: { fromMs: number; untilMs: number }[];
  /** Messages that were answered for, with the recipients each has. */
  accepted: { messageId: string; recipients: number }[];
  /** Delivery ids canceled, and when. */
  canceled: Map<number, number>;
  /** Delivery ids that were given another time, when, and which. */
  moved: Map<number, { fromMs: number; untilMs: number }>;
  /** Delivery ids that may have bounced after they were delivered; absent = none. */
  returned?: ReadonlySet<number>;
  /** By how much the time of a process may be wrong; absent = not at all. */
  mostSkewMs?: number;
}

interface Row {
  id: number;
  state: number;
  attempts: number;
  address: string;
  may_be_duplicate: number;
  expires_at: number;
  updated_at: number;
  message_id: Uint8Array;
}

/** A process died at that instant. */
export function momentOf(atMs: number): Diary['crashes'][number] {
  return { fromMs: atMs, untilMs: atMs };
}

/** A millisecond that clocks may be apart. */
const EARLY_MS = 2;
/** An outcome is stored within this time, if the store works. */
const RECORDED_MS = 1_000;

/** After everything has come to an end. */
export function checkEnd(db: Connection, wire: Wire, diary: Diary): string[] {
  const wrong: string[] = [];
  const rows = db.all<Row>(
    `SELECT d.id, d.state, d.attempts, d.address, d.may_be_duplicate, d.expires_at, d.updated_at, m.id AS message_id
     FROM delivery d JOIN message m ON m.seq = d.message_seq ORDER BY d.id`,
  );
  const events = new Map<number, { kind: string; possibleDuplicate: boolean; isDns: boolean }[]>();
  for (const { delivery_id, kind, detail } of db.all<{
    delivery_id: number | null;
    kind: number;
    detail: string | null;
  }>('SELECT delivery_id, kind, detail FROM event ORDER BY seq')) {
    if (delivery_id === null) continue;
    const list = events.get(delivery_id) ?? [];
    list.push({
      kind: eventKindOf(kind) ?? '?',
      possibleDuplicate: detail?.includes('"possibleDuplicate":true') ?? false,
      isDns: detail?.includes('"Class":"DomainInvalid"') ?? false,
    });
    events.set(delivery_id, list);
  }
  const terminal = new Set<string>(TERMINAL_STATES);
  for (const row of rows) {
    const state = stateCode.word(row.state);
    const who = `delivery ${row.id} (${row.address})`;
    const own = events.get(row.id) ?? [];
    const all = own.filter(({ kind }) => terminal.has(kind));
    const isReturned =
      diary.returned?.has(row.id) === true && all.length === 2 && all[0]?.kind === 'delivered';
    const ends = isReturned ? all.slice(1) : all;
    // What DNS says for good of a domain is an attempt, though nothing travels.
    const byDns = own.filter(({ isDns }) => isDns).length;
    if (!terminal.has(state)) wrong.push(`${who} is ${state} at the end`);
    else if (ends.length !== 1) wrong.push(`${who} is ${state} with ${ends.length} final events`);
    else if (ends[0]?.kind !== state) wrong.push(`${who} is ${state}, its event says ${ends[0]?.kind}`);
    wrong.push(
      ...checkWire(
        row,
        isReturned ? 'delivered' : state,
        all[0]?.possibleDuplicate ?? false,
        byDns,
        wire,
        diary,
      ).map((what) => `${who} ${what}`),
    );
  }
  const kept = Map.groupBy(rows, (row) => uuidText(row.message_id));
  for (const { messageId, recipients } of diary.accepted) {
    const there = kept.get(messageId)?.length ?? 0;
    if (there !== recipients)
      wrong.push(
        `message ${messageId} was accepted for ${recipients} recipients, and the store has ${there}`,
      );
  }
  const known = new Set(rows.map(({ id }) => id));
  for (const { deliveryId } of wire.transactions) {
    if (!known.has(deliveryId)) wrong.push(`delivery ${deliveryId} travelled and is not in the store`);
  }
  return wrong;
}

function checkWire(
  row: Row,
  state: string,
  flagged: boolean,
  byDns: number,
  wire: Wire,
  diary: Diary,
): string[] {
  const wrong: string[] = [];
  const seen = wire.of(row.id);
  const taken = seen.filter(({ takenAtMs }) => takenAtMs !== null);
  if (state === 'delivered' && taken.length === 0) wrong.push('is delivered, and no far end has it');
  for (const { address, messageId } of taken) {
    if (address !== row.address && row.address !== ERASED) wrong.push(`went to ${address}`);
    const id = uuidText(row.message_id);
    if (messageId?.split('@')[0] !== id) wrong.push(`carried ${messageId} instead of ${id}`);
  }
  if (taken.length > 1 && state === 'delivered' && !flagged) {
    wrong.push(`arrived ${taken.length} times, and its event does not say so`);
  }
  if (taken.length > 0 && state !== 'delivered' && row.may_be_duplicate === 0) {
    wrong.push(`is ${state}, but a far end took it, and nothing says that it may have arrived`);
  }
  for (const one of taken) {
    if (one.confirmedAtMs === null) continue;
    // Its outcome was known to the process: only what kept that from the store excuses anything else.
    const { confirmedAtMs } = one;
    const excused = diary.crashes.some(
      ({ fromMs, untilMs }) =>
        untilMs >= confirmedAtMs && fromMs <= lastWrite(confirmedAtMs, diary) + RECORDED_MS,
    );
    if (excused) continue;
    if (state !== 'delivered') wrong.push(`is ${state}, though its 250 was read`);
    const again = seen.find((other) => other !== one && other.atMs > confirmedAtMs);
    if (again !== undefined)
      wrong.push(`went out again ${Math.round(again.atMs - confirmedAtMs)} ms after its 250 was read`);
  }
  const chargeable = seen.filter(({ blamedPath }) => !blamedPath).length + byDns;
  if (row.attempts > chargeable)
    wrong.push(`was charged ${row.attempts} attempts for ${chargeable} that count`);
  const canceledAtMs = diary.canceled.get(row.id);
  if (canceledAtMs !== undefined && seen.some(({ bodyAtMs }) => bodyAtMs !== null && bodyAtMs > canceledAtMs))
    wrong.push('went out after it was canceled');
  const moved = diary.moved.get(row.id);
  const early = EARLY_MS + (diary.mostSkewMs ?? 0);
  if (
    moved !== undefined &&
    seen.some(
      ({ bodyAtMs }) => bodyAtMs !== null && bodyAtMs > moved.fromMs && bodyAtMs < moved.untilMs - early,
    )
  )
    wrong.push('went out before the time that it was given');
  return wrong;
}

/** The instant at which an outcome of `atMs` can be in the store. */
function lastWrite(atMs: number, { outages }: Diary): number {
  const during = outages.find(({ fromMs, untilMs }) => atMs >= fromMs - RECORDED_MS && atMs < untilMs);
  return during?.untilMs ?? atMs;
}

/** Nothing goes by it, for its failures or by an override. */
export function isClosed({ breaker, waitsFor }: PathSnapshot): boolean {
  return breaker.kind === 'open' || waitsFor === 'suspended';
}

/** When a process has just started: a pause that no receiver asked for ended with the process that made it. */
export function checkStarted({ paths }: PathsView): string[] {
  return paths().flatMap((path) =>
    path.snapshot().breaker.kind === 'open'
      ? [`${path.key} is closed after a restart, and nobody asked for it`]
      : [],
  );
}

/** After an orderly stop. */
export function checkStopped(db: Connection): string[] {
  const leased = db.get<{ n: number }>('SELECT count(*) AS n FROM delivery WHERE state = 1')?.n ?? 0;
  return leased === 0 ? [] : [`${leased} recipients are still leased after a stop`];
}

/** Beside the time between two checks: a look at the queue that comes early puts the check off by one. */
const EXPIRED_MS = 10_000;
/** A transaction may be under way that long. */
const IN_FLIGHT_MS = 11 * 60_000;

/** At any moment while a process works, its store can write and the clock was left alone for a while. */
export function checkWaiting(
  db: Connection,
  wire: Wire,
  now: { wallMs: number; monotonicMs: number; epoch: number },
  lookAheadMs: number,
  reasonFor: (recipientDomain: string) => boolean,
  mayHang: (deliveryId: number) => boolean,
): { wrong: string[]; unexplained: number[] } {
  const wrong: string[] = [];
  const late = db.all<{ id: number; state: number; expires_at: number; wait_reason: string | null }>(
    'SELECT id, state, expires_at, wait_reason FROM delivery WHERE state IN (0, 1) AND expires_at < ?',
    now.wallMs - EXPIRED_MS - lookAheadMs,
  );
  for (const { id, state, expires_at, wait_reason } of late) {
    const over = Math.round((now.wallMs - expires_at) / 1000);
    // What stood behind a far end that was silent may have come back this moment.
    if (state === 0 && mayHang(id)) continue;
    if (state === 0) wrong.push(`delivery ${id} waits ${over} s after its time was over (${wait_reason})`);
    else if (!mayHang(id) && !wire.of(id).some(({ atMs }) => atMs > now.monotonicMs - IN_FLIGHT_MS))
      wrong.push(`delivery ${id} is held in memory ${over} s after its time was over`);
  }
  const foreign =
    db.get<{ n: number }>('SELECT count(*) AS n FROM delivery WHERE state = 1 AND epoch <> ?', now.epoch)
      ?.n ?? 0;
  if (foreign > 0) wrong.push(`${foreign} recipients are leased to a process that is gone`);
  const due = db.all<{ id: number; recipient_domain: string }>(
    `SELECT d.id, q.recipient_domain FROM delivery d JOIN dest_queue q ON q.id = d.queue_id
     WHERE d.state = 0 AND d.wait_reason IS NULL AND d.due_at < ? AND d.expires_at > ? LIMIT 20`,
    now.wallMs - 20_000,
    // What has no time left waits for its end.
    now.wallMs,
  );
  const unexplained = due.filter(({ recipient_domain }) => !reasonFor(recipient_domain)).map(({ id }) => id);
  return { wrong, unexplained };
}
