/**
 * Both ends of a soak held against each other: what clients were told, the rows of the database of a server that has
 * ended, and how many copies the far ends took. Recipients are `r<number>@…`, one for each message.
 */
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

export interface Sums {
  acknowledged: number;
  /** Rows by final state. */
  states: Record<string, number>;
  /** Recipients with more than one copy, all of them marked. */
  duplicated: number;
  wrong: string[];
}

/** `delivery.state` in words (src/store/shared/codes.ts). */
const STATES = ['queued', 'sending', 'delivered', 'bounced', 'failed', 'suppressed', 'canceled', 'rejected'];
const MOST_NAMED = 10;

/** Reads every row once; `wrong` names the first recipients that do not fit. */
export function countBothEnds(data: string, acknowledged: Uint8Array, copies: Uint8Array): Sums {
  const database = new DatabaseSync(join(data, 'postrider.db'), { readOnly: true });
  const wrong: string[] = [];
  const say = (what: string) => {
    if (wrong.length < MOST_NAMED) wrong.push(what);
  };
  const states: Record<string, number> = {};
  const known = new Uint8Array(acknowledged.length);
  let duplicated = 0;
  const rows = database
    .prepare('SELECT address, state, may_be_duplicate AS marked, last_reply AS reply FROM delivery')
    .iterate();
  for (const { address, state, marked, reply } of rows) {
    const word = STATES[Number(state)] ?? `state ${state}`;
    states[word] = (states[word] ?? 0) + 1;
    const n = Number(/^r(\d+)@/.exec(String(address))?.[1] ?? Number.NaN);
    if (Number.isNaN(n)) continue;
    if (known[n] === 1) say(`recipient ${n} has two rows`);
    known[n] = 1;
    const there = copies[n] ?? 0;
    if (word === 'queued' || word === 'sending')
      say(`recipient ${n} is ${word} although the queue was empty`);
    if (word === 'delivered' && there === 0) say(`recipient ${n} is delivered and no copy was taken`);
    // A copy whose reply was lost may belong to a recipient that was given up later; others come back as bounces.
    const cameBack = word === 'bounced' && String(address).endsWith('@bouncer.test');
    if (word !== 'delivered' && there > 0 && marked !== 1 && !cameBack) {
      say(`${address} is ${word} with ${there} copies: ${reply}`);
    }
    if (there > 1) {
      duplicated += 1;
      if (marked !== 1) say(`recipient ${n} has ${there} copies and no mark`);
    }
  }
  database.close();
  let acks = 0;
  for (const [n, one] of acknowledged.entries()) {
    if (one === 0) continue;
    acks += 1;
    if (known[n] === 0) say(`message ${n} was acknowledged and is lost`);
  }
  return { acknowledged: acks, states, duplicated, wrong };
}
