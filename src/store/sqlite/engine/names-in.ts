/** The domains that have rows in a table, however many rows there are. */
import type { Connection } from './connection.ts';
import type { Steps } from './operation.ts';

const NAMES_PER_STEP = 1000;

/** Their names; one step of the index each. */
export function* namesIn(db: Connection, table: 'suppression' | 'message' | 'event_sum'): Steps<string[]> {
  const names: string[] = [];
  let id = 0;
  for (;;) {
    const row = db.get<{ id: number; text: string }>(
      `SELECT id, text FROM name WHERE id = (SELECT min(domain_id) FROM ${table} WHERE domain_id > ?)`,
      id,
    );
    if (row === undefined) return names;
    id = row.id;
    names.push(row.text);
    if (names.length % NAMES_PER_STEP === 0) yield;
  }
}
