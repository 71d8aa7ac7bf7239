/**
 * `npm run demo`: a server with a month of mail in it, to look around in the dashboard. Nothing leaves the machine: the
 * recipients' servers, the DNS and the receivers of webhooks are played on loopback, and end with it.
 */
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startDemo } from './demo.ts';

const HELP = `A server with a month of mail in it, to look around in the dashboard. Nothing leaves the machine.

npm run demo -- [--http 127.0.0.1:8025] [--data FOLDER] [--days 30] [--seed 1]

It takes a minute or two to fill. Without --data the mail is removed at the end. A folder that is given must be empty or new.
Example: npm run demo -- --http 127.0.0.1:9000`;

const isTerminal = process.stderr.isTTY;
const values = givenOptions();
if (values.help) {
  process.stdout.write(`${HELP}\n`);
  process.exit(0);
}
const days = Number(values.days);
const seed = Number(values.seed);
if (!Number.isInteger(days) || days < 1 || days > 60) fail('--days is a whole number from 1 to 60');
if (!Number.isInteger(seed)) fail('--seed is a whole number');
if (values.data !== undefined && (await readdir(values.data).catch(() => [])).length > 0)
  fail(`${values.data} is not empty: give a new folder`);

const data = values.data ?? (await mkdtemp(join(tmpdir(), 'postrider-demo-')));
const removeData = async () => {
  if (values.data === undefined) await rm(data, { recursive: true, force: true });
};
process.once('SIGINT', () => void removeData().then(() => process.exit(130)));
if (!isTerminal) process.stderr.write('Sending a month of mail, which takes a minute or two\n');
const demo = await startDemo({
  ...{ data, http: values.http, days, seed },
  progress(line) {
    if (isTerminal) process.stderr.write(`\r\x1b[KSending a month of mail: ${line}`);
  },
}).catch(async (cause: unknown) => {
  await removeData();
  if ((cause as NodeJS.ErrnoException).code === 'EADDRINUSE')
    return fail(
      `${values.http} is in use, perhaps by npm start. Choose another port: npm run demo -- --http 127.0.0.1:8030`,
    );
  return fail(cause instanceof Error ? cause.message : String(cause));
});
if (isTerminal) process.stderr.write('\r\x1b[K');
process.removeAllListeners('SIGINT');
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(
    signal,
    () =>
      void demo
        .stop()
        .then(removeData)
        .then(() => process.exit()),
  );
}
const ending = values.data === undefined ? ' and removes its mail' : '';
process.stdout.write(`The dashboard: ${demo.server.localUrl}/ (Ctrl-C ends it${ending})\n`);

function fail(message: string): never {
  process.stderr.write(`${isTerminal ? '\r\x1b[K' : ''}demo: ${message}\n`);
  process.exit(1);
}

function givenOptions() {
  try {
    return parseArgs({
      options: {
        http: { type: 'string', default: '127.0.0.1:8025' },
        data: { type: 'string' },
        days: { type: 'string', default: '30' },
        seed: { type: 'string', default: '1' },
        help: { type: 'boolean', default: false },
      },
    }).values;
  } catch (cause) {
    return fail(`${cause instanceof Error ? cause.message : cause}\n\n${HELP}`);
  }
}
