/**
 * The work of the writer, in its own thread (writer-thread.ts) or on the caller's (in-process.ts). Opening it opens
 * (and migrates) the database; then it answers one request at a time with the only writing connection. Throws
 * StoreRefused if the database must not be changed.
 */
import { createBatchRunner } from './batch.ts';
import type { Connection } from './connection.ts';
import { createFileWatch } from './file-watch.ts';
import { openDatabase } from './open-database.ts';
import type { WireCall, WriteCall, WriterData, WriterReply, WriterRequest } from './protocol.ts';
import { createSession } from './session.ts';

/** One side of a thread: requests in, replies out, synchronously. */
export interface Work<Request, Reply> {
  answer(request: Request): Reply;
  close(): void;
}

export type WriterAsk = Exclude<WriterRequest, { kind: 'close' }>;

/** The writer over the database at its path, or over a given connection, which stays open. */
export function openWriter(data: WriterData, given?: Connection): Work<WriterAsk, WriterReply> {
  const arena = new Uint8Array(data.arena);
  const db = given ?? openDatabase(data.path, data.sharing);
  if (data.maxPages !== null) db.exec(`PRAGMA max_page_count = ${data.maxPages}`);
  const runner = createBatchRunner(createSession(db), {
    failStoreWrites: data.failStoreWrites,
    othersWrite: data.sharing !== 'none',
    ...(given === undefined ? { requireFiles: createFileWatch(data.path) } : {}),
  });

  /** Puts the contents back into the calls. */
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

  const diesAfter = data.failStoreWrites?.as === 'death' ? data.failStoreWrites.from : null;
  let batches = 0;

  return {
    answer(request) {
      if (request.kind !== 'batch') return [runner.probe()];
      const answers = runner.run(request.calls.map(unpack), request.synced);
      batches += 1;
      if (batches === diesAfter) throw new Error('failpoint store-death');
      return answers;
    },
    close() {
      if (given === undefined) db.close();
    },
  };
}
