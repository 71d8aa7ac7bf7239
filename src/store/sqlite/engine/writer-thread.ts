/**
 * The writer thread, with the only connection that writes. Opens (and migrates) the database, reports that, then
 * answers one batch at a time. Synchronous SQLite calls never block the event loop, and with one writer there are no
 * lock waits. Messages sent while a batch runs wait in the port.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { freeStart } from '../../../lib/free-start.ts';
import { StoreRefused } from '../../shared/refusal.ts';
import type { ThreadStart, WriterData, WriterRequest } from './protocol.ts';
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
freeStart();
