/**
 * `serve` as one node of several, that notices the others faster than in life: five times, so that a test waits for
 * seconds where an operator waits for half a minute. Given settings in the environment; runs until SIGTERM.
 */
import { destination } from 'pino';
import { loadConfig } from '../../src/config.ts';
import { createLoggers } from '../../src/lib/log.ts';
import { NODE_TIMES } from '../../src/pipeline/queue/membership.ts';
import { startServer } from '../../src/server.ts';

const FASTER = 5;

const loaded = loadConfig('serve', {}, process.env);
const logs = createLoggers({
  destination: destination({ dest: 1, sync: true }),
  level: 'info',
  maskAddresses: false,
});
const { beatMs, leaseMs, fenceMs, deadMs } = NODE_TIMES;
const server = await startServer({
  mode: 'serve',
  loaded,
  logs,
  version: 'test',
  nodeTimes: {
    beatMs: beatMs / FASTER,
    leaseMs: leaseMs / FASTER,
    fenceMs: fenceMs / FASTER,
    deadMs: deadMs / FASTER,
  },
});
process.stderr.write(`listens on ${server.localUrl}\n`);
process.once('SIGTERM', () => {
  void server.stop(10_000).then(() => process.exit(0));
});
