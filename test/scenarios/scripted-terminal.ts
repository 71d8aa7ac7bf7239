/**
 * A terminal whose user is a script: it waits for a text on the screen, then types. The program runs in this process over
 * streams that say they are a terminal.
 */
import { PassThrough, Writable } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { createProgram } from '../../src/cli/program.ts';
import type { Terminal } from '../../src/cli/terminal.ts';
import { until } from './harness.ts';

export const KEYS = { enter: '\r', down: '\u001b[B', ctrlC: '\u0003', clear: '\u0015' } as const;

export interface ScriptedTerminal {
  /** Everything on the screen so far (standard error), without control sequences. */
  screen(): string;
  stdout(): string;
  /** Waits until `text` is on the screen, behind what was waited for before, then types. */
  answer(text: string, typed: string): Promise<void>;
  /** Waits until `text` is on the screen. */
  sees(text: string): Promise<void>;
  /** The exit code. */
  readonly ended: Promise<number>;
}

/** Runs the program with `args` at such a terminal. `environment`: all that it sees of one; `size` in characters. */
export function runAtTerminal(
  args: readonly string[],
  environment: Record<string, string> = {},
  size = { columns: 100, rows: 40 },
): ScriptedTerminal {
  let screen = '';
  let out = '';
  let seen = 0;
  const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => stdin });
  const sink = (take: (text: string) => void) =>
    Object.assign(
      new Writable({
        write(chunk, _encoding, done) {
          take(String(chunk));
          done();
        },
      }),
      { isTTY: true, ...size },
    );
  const program = createProgram({
    calledAs: () => 'postrider',
    environment,
    stdin,
    stderr: sink((text) => {
      screen += text;
    }),
    stdout: sink((text) => {
      out += text;
    }),
  } as unknown as Terminal);
  let code: number | null = null;
  const ended = program.run(args).then((exit) => {
    code = exit;
    stdin.destroy();
    return exit;
  });
  const shown = () => stripVTControlCharacters(screen);
  const sees = async (text: string) => {
    await until(`"${text}" on the screen:\n${shown().slice(-2000)}`, () => {
      const at = shown().indexOf(text, seen);
      if (at >= 0) seen = at + text.length;
      else if (code !== null) throw new Error(`ended with ${code} before "${text}":\n${shown()}`);
      return at >= 0;
    });
  };
  return {
    screen: shown,
    stdout: () => stripVTControlCharacters(out),
    sees,
    async answer(text, typed) {
      await sees(text);
      stdin.write(typed);
    },
    ended,
  };
}
