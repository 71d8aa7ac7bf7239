/**
 * The writer thread: the only connection that writes. Opens (and migrates) the database, says so, then answers one
 * batch at a time; synchronous SQLite calls never stall the event loop, and one writer means no lock waits. What the
 * main thread sends while a batch runs waits in the port.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { createBatchRunner } from './batch.ts';
import { openDatabase } from './open-database.ts';
import type { ThreadStart, WireCall, WriteCall, WriterData, WriterReply, WriterRequest } from './protocol.ts';
import { StoreRefused } from './refusal.ts';
import { createSession } from './session.ts';

const data = workerData as WriterData;
const port = parentPort;
if (port === null) throw new Error('writer-thread.ts runs as a worker thread only');
const arena = new Uint8Array(data.arena);

/** Puts the contents back into calls that crossed without them. */
function unpack(call: WireCall): WriteCall {
  if (call.name !== 'commitAccepted') return call;
  const messages = call.params.messages.map((message) => ({
    ...message,
    content:
      message.content instanceof Uint8Array
        ? message.content
        : arena.subarray(message.content.offset, message.content.offset + message.content.length),
  }));
  return { name: 'commitAccepted', params: { ...call.params, messages } };
}

function start(): ThreadStart {
  try {
    const db = openDatabase(data.path);
    if (data.maxPages !== null) db.exec(`PRAGMA max_page_count = ${data.maxPages}`);
    const runner = createBatchRunner(createSession(db), data.failStoreWrites);
    port?.on('message', (request: WriterRequest) => {
      if (request.kind === 'close') {
        db.close();
        port.close();
        return;
      }
      const reply: WriterReply =
        request.kind === 'batch' ? runner.run(request.calls.map(unpack), request.synced) : [runner.probe()];
      port.postMessage(reply);
    });
    return { kind: 'ready' };
  } catch (error) {
    if (!(error instanceof StoreRefused)) throw error;
    return { kind: 'refused', reason: error.reason, message: error.message };
  }
}

port.postMessage(start());
