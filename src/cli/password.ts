/**
 * Gets the password of a person: made here and printed once, read from standard input, or asked for at the terminal without
 * showing it. Options choose; without one, it asks at a terminal and reads standard input otherwise.
 */
import { createInterface } from 'node:readline';
import { createSystemRandom } from '../lib/random.ts';
import { type Terminal, UsageError } from './terminal.ts';

const GENERATED_BYTES = 15;
const MAX_CHARS = 1_024;

/** 120 bits as 20 characters. */
export function generatedPassword(): string {
  return Buffer.from(createSystemRandom().bytes(GENERATED_BYTES)).toString('base64url');
}

/** What is typed, asked for twice at a terminal. Throws UsageError where both differ, or nothing comes. */
export async function readPassword(terminal: Pick<Terminal, 'stdin' | 'stderr'>): Promise<string> {
  const { stdin } = terminal;
  if (stdin.isTTY !== true) return firstLine(stdin);
  const first = await typed(terminal, 'Password (at least 12 characters): ');
  const second = await typed(terminal, 'The same again: ');
  if (first !== second) throw new UsageError('the two passwords are not the same');
  return first;
}

async function firstLine(stdin: Terminal['stdin']): Promise<string> {
  let text = '';
  stdin.setEncoding('utf8');
  for await (const chunk of stdin) {
    text += chunk;
    if (text.includes('\n') || text.length > MAX_CHARS) break;
  }
  const [line = ''] = text.split(/\r?\n/, 1);
  if (line === '')
    throw new UsageError('no password came on standard input; use --generate to have one made');
  return line;
}

/** One line of a terminal; readline edits it and writes nothing of it. */
function typed({ stdin, stderr }: Pick<Terminal, 'stdin' | 'stderr'>, question: string): Promise<string> {
  stderr.write(question);
  const lines = createInterface({ input: stdin, terminal: true });
  return new Promise((resolve, reject) => {
    lines.once('line', (line) => {
      lines.close();
      resolve(line);
    });
    // Ctrl-C or Ctrl-D; after a line it is too late to change anything.
    lines.once('close', () => {
      stderr.write('\n');
      reject(new UsageError('nothing was typed'));
    });
  });
}
