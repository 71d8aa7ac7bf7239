/**
 * Gets the password of a person: generated and printed once, read from standard input, or asked for at the terminal
 * without showing it. Options decide; without one, it is asked for at a terminal and read from standard input
 * otherwise.
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

/** A typed password, asked for twice at a terminal. Throws UsageError if the two differ, or nothing is typed. */
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

/** Reads one line at a terminal; readline edits it and shows nothing. */
function typed({ stdin, stderr }: Pick<Terminal, 'stdin' | 'stderr'>, question: string): Promise<string> {
  stderr.write(question);
  const lines = createInterface({ input: stdin, terminal: true });
  return new Promise((resolve, reject) => {
    lines.once('line', (line) => {
      // First, because closing emits `close`, which rejects.
      resolve(line);
      lines.close();
    });
    // Ctrl-C or Ctrl-D; after the line was entered, neither has an effect.
    lines.once('close', () => {
      stderr.write('\n');
      reject(new UsageError('nothing was typed'));
    });
  });
}
