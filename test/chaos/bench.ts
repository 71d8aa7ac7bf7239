/**
 * What every test here starts from: a data folder, a far end that keeps what it takes, and servers on that folder.
 * `clear` ends and removes everything that was made, whatever state a failed test left it in.
 */
import { type SinkOptions, type SmtpSink, startSmtpSink } from '../fakes/smtp-sink.ts';
import { makeDataFolder, type ServerProcess, startServerProcess } from './server-process.ts';

export interface Bench {
  readonly sink: SmtpSink;
  readonly data: string;
  /** A server on this bench's folder, with the far end as its relay; waits between attempts are 200 ms. */
  start(env?: Record<string, string>): Promise<ServerProcess>;
}

export interface Benches {
  prepare(options?: { sink?: SinkOptions; data?: string }): Promise<Bench>;
  /** Called by `clear`, last made first. */
  afterwards(cleanup: () => Promise<unknown>): void;
  clear(): Promise<void>;
}

export function createBenches(): Benches {
  const cleanups: (() => Promise<unknown>)[] = [];
  return {
    async prepare(options = {}) {
      const folder = options.data === undefined ? await makeDataFolder() : null;
      if (folder !== null) cleanups.push(folder.remove);
      const data = options.data ?? folder?.path ?? '';
      const sink = await startSmtpSink(options.sink);
      cleanups.push(() => sink.close());
      return {
        sink,
        data,
        async start(env = {}) {
          const server = await startServerProcess({
            data,
            env: { POSTRIDER_ROUTE: `smtp://127.0.0.1:${sink.port}`, POSTRIDER_RETRY: '200ms', ...env },
          });
          cleanups.push(() => server.kill());
          return server;
        },
      };
    },
    afterwards(cleanup) {
      cleanups.push(cleanup);
    },
    async clear() {
      for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
    },
  };
}
