/**
 * A reader thread: a read-only connection for everything that only looks. Each read starts its own snapshot, so it
 * sees every write that resolved before; a slow search here stalls neither the event loop nor the writer.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { type Connection, openConnection } from './connection.ts';
import type { ParamsOf, ReadName, ResultOf } from './operation-types.ts';
import { READS } from './operations.ts';
import type { Answer, ReadCall, ReaderData, ReaderReply, ReaderRequest, ThreadStart } from './protocol.ts';
import { unavailableReason } from './sqlite-errors.ts';

const data = workerData as ReaderData;
const port = parentPort;
if (port === null) throw new Error('reader-thread.ts runs as a worker thread only');

let opened: Connection | null = null;

/** Opened by the first read: the thread starts beside the writer, before there may be a database. */
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

function apply<Name extends ReadName>(from: Connection, name: Name, params: ParamsOf<Name>): ResultOf<Name> {
  return READS[name](from, params);
}

port.on('message', (request: ReaderRequest) => {
  if (request.kind === 'close') {
    opened?.close();
    port.close();
    return;
  }
  const reply: ReaderReply = answer(request.call);
  port.postMessage(reply);
});

const ready: ThreadStart = { kind: 'ready' };
port.postMessage(ready);
