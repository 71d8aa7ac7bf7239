/**
 * What is removed in a simulated run at any instant: the contents of mail that has ended, and everything about a person, as
 * `POST /erase` does it. Given the process that works then; says where something of an erased person is there again.
 */
import { createRetention } from '../../src/policy/retention/retention.ts';
import type { Process } from '../../src/simulation/process.ts';
import { createDice } from '../../src/simulation/seeded.ts';
import { ERASED } from '../../src/store/shared/erased.ts';
import type { ElsewherePlace } from '../../src/store/topics/erasing.ts';
import type { Room } from './room.ts';
import type { SecondThoughts } from './second-thoughts.ts';

const DAY_MS = 86_400_000;
/** Everything else is kept. */
const KEPT_MS = 1_000 * DAY_MS;

export function createPurges(
  seed: number,
  { room, thoughts }: { room: Room; thoughts: SecondThoughts },
  note: (what: string) => void,
) {
  const dice = createDice(seed, 13);
  const addresses = new Set<string>();
  /** Recipients that were masked, and the last event that there was then. */
  const erased = new Map<number, { address: string; lastEvent: number }>();

  return {
    /** When something is removed. */
    times(untilMs: number): number[] {
      const times: number[] = [];
      while (dice.chance(0.7)) times.push(dice.ms(1_000, untilMs));
      return times;
    },
    act: (process: Process) => (dice.chance(0.3) ? purgeContents(process) : erase(process)).catch(() => {}),
    isErased: (address: string) => addresses.has(address),
    checkEnd,
  };

  async function purgeContents({ store, clock: own }: Process): Promise<void> {
    const kept = { eventsMs: KEPT_MS, callsMs: KEPT_MS, capturesMs: KEPT_MS, optOutMs: KEPT_MS };
    const retention = createRetention({ store, clock: own }, { ...kept, contentMs: 0, contentBytes: null });
    await retention.purge(() => true);
  }

  /** Whoever was written to, soonest those whose mail is under way. */
  async function erase(process: Process): Promise<void> {
    const { store } = process;
    const rows = room.db.all<{ address: string }>(
      'SELECT address FROM delivery WHERE address <> ? ORDER BY state = 1 DESC, id DESC LIMIT 20',
      ERASED,
    );
    if (rows.length === 0) return;
    const { address } = dice.pick(rows);
    const { seqs, waiting } = await store.findMentions({ address, afterSeq: 0, limit: 10_000 });
    for (const { messageSeq, deliveryId } of waiting)
      await thoughts.cancel(messageSeq, [deliveryId], process);
    addresses.add(address);
    const own = room.db.all<{ id: number }>('SELECT id FROM delivery WHERE address = ?', address);
    let afterEvent: number | null = null;
    for (let at = 0; at < seqs.length; ) {
      const more: { afterEvent?: number } = afterEvent === null ? {} : { afterEvent };
      const step = await store.eraseMessages({ address, seqs: seqs.slice(at, at + 8), ...more });
      at += step.done;
      afterEvent = step.afterEvent;
    }
    for (let from: ElsewherePlace | null | undefined; from !== null; ) {
      const asked = { address, proposedKey: dice.bytes(32), from: from ?? null, limit: 500 };
      const done: Awaited<ReturnType<typeof store.eraseElsewhere>> = await store.eraseElsewhere(asked);
      from = done.next;
    }
    const last = room.db.get<{ seq: number | null }>('SELECT max(seq) AS seq FROM event');
    for (const { id } of own)
      if (room.db.get('SELECT 1 FROM delivery WHERE id = ? AND address = ?', id, ERASED) !== undefined)
        erased.set(id, { address, lastEvent: last?.seq ?? 0 });
  }

  function checkEnd(): void {
    for (const [id, { address, lastEvent }] of erased) {
      const since = room.db.get<{ n: number }>(
        'SELECT count(*) AS n FROM event WHERE delivery_id = ? AND seq > ?',
        ...[id, lastEvent],
      );
      if (since !== undefined && since.n > 0)
        note(`delivery ${id} has ${since.n} events after it was erased`);
      const named = room.db.get<{ n: number }>(
        `SELECT count(*) AS n FROM event WHERE delivery_id = ? AND instr(detail, ?) > 0`,
        ...[id, address],
      );
      if (named !== undefined && named.n > 0) note(`delivery ${id} is erased, and its events name it`);
      const content = room.db.get(
        `SELECT 1 FROM content c JOIN delivery d ON d.message_seq = c.message_seq WHERE d.id = ?`,
        id,
      );
      if (content !== undefined) note(`delivery ${id} is erased, and its content is there at the end`);
    }
    if (room.db.get('SELECT 1 FROM suppression WHERE key = ?', ERASED) !== undefined)
      note('an erased address is on the list');
  }
}
