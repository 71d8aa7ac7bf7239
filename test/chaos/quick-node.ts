/**
 * `serve` as one node of several, that notices the others faster than in life: five times (`FASTER`), so that a test waits for
 * seconds where an operator waits for half a minute. Given settings in the environment; runs until SIGTERM.
 */
import { destination } from 'pino';
import { loadConfig } from '../../src/config.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { createLoggers } from '../../src/lib/log.ts';
import { NODE_TIMES } from '../../src/pipeline/queue/membership.ts';
import { startServer } from '../../src/server.ts';

const FASTER = Number(process.env.FASTER ?? 5);
/** How far the clock of this machine is ahead. */
const ahead = Number(process.env.AHEAD_MS ?? 0);

const loaded = loadConfig('serve', {}, process.env);
const logs = createLoggers({
  destination: destination({ dest: 1, sync: true }),
  level: 'info',
  maskAddresses: false,
});
const server = await startServer({
  mode: 'serve',
  loaded,
  logs,
  version: 'test',
  ...(ahead === 0 ? {} : { clock: { ...systemClock, now: () => systemClock.now() + ahead } }),
  nodeTimes: Object.fromEntries(
    Object.entries(NODE_TIMES).map(([name, ms]) => [name, ms / FASTER]),
  ) as unknown as typeof NODE_TIMES,
});
process.stderr.write(`listens on ${server.localUrl}\n`);
void server.failed.then((reason) => {
  process.stderr.write(`${reason}\n`);
  process.exit(1);
});
process.once('SIGTERM', () => {
  void server.stop(10_000).then(() => process.exit(0));
});
