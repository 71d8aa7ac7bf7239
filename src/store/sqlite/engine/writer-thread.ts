/**
 * The writer thread: the only connection that writes. Opens (and migrates) the database, says so, then answers one
 * batch at a time; synchronous SQLite calls never stall the event loop, and one writer means no lock waits. What the
 * main thread sends while a batch runs waits in the port.
 */
import { parentPort, workerData } from 'node:worker_threads';
import type { ThreadStart, WriterData, WriterRequest } from './protocol.ts';
import { StoreRefused } from './refusal.ts';
import { openWriter } from './writer-work.ts';

const port = parentPort;
if (port === null) throw new Error('writer-thread.ts runs as a worker thread only');

function start(): ThreadStart {
  try {
    const writer = openWriter(workerData as WriterData);
    port?.on('message', (request: WriterRequest) => {
      if (request.kind === 'close') {
        writer.close();
        port.close();
        return;
      }
      port.postMessage(writer.answer(request));
    });
    return { kind: 'ready' };
  } catch (error) {
    if (!(error instanceof StoreRefused)) throw error;
    return { kind: 'refused', reason: error.reason, message: error.message };
  }
}

port.postMessage(start());
