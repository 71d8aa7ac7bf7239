/**
 * The entry: arguments and environment in, exit code out. The only file of the server that reads `process.env`; everything
 * else gets what it needs as arguments.
 */
import { fileURLToPath } from 'node:url';
import { calledAs } from './cli/called-as.ts';
import { createProgram } from './cli/program.ts';
import { keepProcess } from './lib/clock.ts';
import { whyNot } from './lib/why-not.ts';

const program = createProgram({
  calledAs: () =>
    calledAs({
      path: process.env.PATH,
      cwd: process.cwd(),
      launcher: fileURLToPath(new URL('../bin/postrider', import.meta.url)),
    }),
  environment: process.env,
  stdout: process.stdout,
  stderr: process.stderr,
  stdin: process.stdin,
});

// The reader of the output may end first (`| head`): the rest is dropped, and the work is still finished. Where standard
// error cannot be written, such as on a full disk, nobody can be told.
process.stdout.on('error', (cause: NodeJS.ErrnoException) => {
  if (cause.code === 'EPIPE') return;
  process.stderr.write(`postrider: the output cannot be written: ${whyNot(cause)}\n`);
  process.exit(1);
});
process.stderr.on('error', () => {});

// Where a launcher stays beside this process, it is the one whose pid is known: who kills it means this one.
if (process.channel !== undefined) {
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
  process.channel.unref();
}

// A command that only waits, such as for the result of an attempt, has nothing else that keeps the process.
const release = keepProcess();
process.exitCode = await program.run(process.argv.slice(2));
release();
