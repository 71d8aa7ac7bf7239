/**
 * Entry: arguments and environment in, exit code out. The only file that reads `process.env` for configuration,
 * besides handing it to `loadConfig`; everything else is given what it needs.
 */
import { join } from 'node:path';
import { calledAs } from './cli/called-as.ts';
import { createProgram } from './cli/program.ts';

const program = createProgram({
  calledAs: () =>
    calledAs({
      path: process.env.PATH,
      cwd: process.cwd(),
      launcher: join(import.meta.dirname, '..', 'bin', 'postrider'),
    }),
  environment: process.env,
  stdout: process.stdout,
  stderr: process.stderr,
  stdin: process.stdin,
});

// Who reads the output may end first (`| head`): what is left goes nowhere, and the work is still finished.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (cause: NodeJS.ErrnoException) => {
    if (cause.code !== 'EPIPE') throw cause;
  });
}

process.exitCode = await program.run(process.argv.slice(2));
