/**
 * A server whose clock begins some days ago and has reached the present when `startDemo` resolves, with the mail of those
 * days. Its far ends go on until `stop`, so that what waits can be tried and held.
 */
import { loadConfig } from '../../src/config.ts';
import { createLoggers } from '../../src/lib/log.ts';
import { type RunningServer, startServer } from '../../src/server.ts';
import { DAY_MS, openFarEnds } from './far-ends.ts';
import { createJumpingClock } from './jumping-clock.ts';
import { playMonth } from './month.ts';

export interface Demo {
  server: RunningServer;
  /** A request below /api/v1, as the administrator; throws where it is refused. */
  call: Call;
  stop(): Promise<void>;
}

export type Call = (method: string, path: string, body?: unknown) => Promise<Record<string, unknown>>;

/** Given an empty folder. `progress` is called with a line now and then. */
export async function startDemo(options: {
  data: string;
  http: string;
  days: number;
  seed: number;
  progress?: (line: string) => void;
}): Promise<Demo> {
  const { data, http, days, seed, progress = () => undefined } = options;
  const clock = createJumpingClock(days * DAY_MS);
  const farEnds = await openFarEnds(clock, clock.now() + days * DAY_MS);
  const settings = {
    POSTRIDER_HTTP: http,
    POSTRIDER_SUBMISSION: '127.0.0.1:0',
    POSTRIDER_RETURNS: '127.0.0.1:0',
    POSTRIDER_HOSTNAME: 'mail.acme.example',
    POSTRIDER_BOUNCE_DOMAIN: 'bounces.acme.example',
    POSTRIDER_ROUTE: 'mx',
    POSTRIDER_DNS: farEnds.dns.text,
    POSTRIDER_MX_PORT: String(farEnds.port),
    POSTRIDER_ALLOW_NETWORKS: '127.0.0.0/8',
  };
  const server = await startServer({
    mode: 'dev',
    loaded: loadConfig('dev', { data }, settings),
    logs: createLoggers({ destination: { write() {} }, level: 'error', maskAddresses: false }),
    version: 'demo',
    command: `./bin/postrider --data ${data}`,
    clock,
  }).catch(async (cause: unknown) => {
    await farEnds.close();
    throw cause;
  });
  const stop = async () => {
    await server.stop(2_000);
    await farEnds.close();
  };
  const call: Call = async (method, path, body) => {
    const answer = await fetch(`${server.localUrl}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${server.adminToken}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as Record<string, unknown>;
  };
  try {
    await playMonth({ clock, farEnds, call, returnsPort: server.returns?.port ?? 0, days, seed, progress });
  } catch (cause) {
    await stop();
    throw cause;
  }
  return { server, call, stop };
}
