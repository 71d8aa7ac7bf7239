/**
 * What a reader does, wherever it runs: a read-only connection for everything that only looks. Each read starts its own
 * snapshot, so it sees every write that resolved before.
 */

import { READS, type ReadName } from '../operations.ts';
import { type Connection, openConnection } from './connection.ts';
import type { ParamsOf, ResultOf } from './operation.ts';
import type { Answer, ReadCall, ReaderData, ReaderReply, ReaderRequest } from './protocol.ts';
import { unavailableReason } from './sqlite-errors.ts';
import type { Work } from './writer-work.ts';

export type ReaderAsk = Exclude<ReaderRequest, { kind: 'close' }>;

/**
 * Opens nothing yet: there may be no database before the writer works. A connection that is given is used as it is and
 * stays open.
 */
export function openReader(data: ReaderData, given?: Connection): Work<ReaderAsk, ReaderReply> {
  let opened: Connection | null = given ?? null;

  function connection(): Connection {
    if (opened === null) {
      opened = openConnection(data.path, { readOnly: true, busyMs: 2000 });
      opened.exec('PRAGMA cache_size = -4096; PRAGMA temp_store = MEMORY;');
    }
    return opened;
  }

  function answer(call: ReadCall): Answer {
    try {
      const db = connection();
      // One transaction per read: operations of several statements see one snapshot.
      db.exec('BEGIN');
      const value = apply(db, call.name, call.params);
      db.exec('COMMIT');
      return { kind: 'value', value };
    } catch (error) {
      if (opened?.inTransaction() === true) opened.exec('ROLLBACK');
      const reason = unavailableReason(error);
      return reason === null ? { kind: 'thrown', error } : { kind: 'unavailable', reason };
    }
  }

  return { answer: ({ call }) => answer(call), close };

  function close(): void {
    if (given === undefined) opened?.close();
  }
}

function apply<Name extends ReadName>(from: Connection, name: Name, params: ParamsOf<Name>): ResultOf<Name> {
  return READS[name](from, params);
}
