/** A reader thread: a slow search here stalls neither the event loop nor the writer. */
import { parentPort, workerData } from 'node:worker_threads';
import { freeStart } from '../../../lib/free-start.ts';
import type { ReaderData, ReaderRequest, ThreadStart } from './protocol.ts';
import { openReader } from './reader-work.ts';

const port = parentPort;
if (port === null) throw new Error('reader-thread.ts runs as a worker thread only');
const reader = openReader(workerData as ReaderData);

port.on('message', (request: ReaderRequest) => {
  if (request.kind === 'close') {
    reader.close();
    port.close();
    return;
  }
  port.postMessage(reader.answer(request));
});

const ready: ThreadStart = { kind: 'ready' };
port.postMessage(ready);
freeStart();
