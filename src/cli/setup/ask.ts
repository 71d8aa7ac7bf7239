/**
 * How `setup` gets its answers: from a person at a terminal, by prompts on standard error, or with `--yes` from the
 * defaults. Ctrl-C at a prompt throws `Stopped`. Without a terminal and a default, the error names the flag for the
 * answer.
 */
import type { Terminal } from '../terminal.ts';
import { UsageError } from '../terminal.ts';

/** The user pressed Ctrl-C. */
export class Stopped extends Error {}

export interface TextQuestion {
  /** The flag for this answer, e.g. `--hostname`. */
  flag: string;
  message: string;
  /** The answer where nothing is typed. */
  initial?: string;
  /** What is wrong with an answer, in one sentence; undefined if it is right. */
  check?(text: string): string | undefined;
}

export interface Choice<Value extends string> {
  value: Value;
  label: string;
  hint?: string;
}

export interface Ask {
  /** A person answers. */
  readonly asks: boolean;
  text(question: TextQuestion): Promise<string>;
  /** Not shown while it is typed. */
  secret(question: Omit<TextQuestion, 'initial'>): Promise<string>;
  choose<Value extends string>(question: {
    flag: string;
    message: string;
    options: readonly Choice<Value>[];
    initial?: Value;
  }): Promise<Value>;
  agree(question: { message: string; initial: boolean }): Promise<boolean>;
}

/**
 * Prompts at the terminal; an aborted `signal` also ends them. The library is loaded here, because only this command
 * needs it.
 */
export async function askAtTerminal(
  { stdin, stderr }: Pick<Terminal, 'stdin' | 'stderr'>,
  signal: AbortSignal,
): Promise<Ask> {
  if (stdin.isTTY !== true || stderr.isTTY !== true) {
    throw new UsageError(
      'There is no terminal to ask on; repeat the command with --yes, and with the answers as flags (see --help)',
    );
  }
  // A serial console reports no size (0 by 0), in which a prompt would be drawn one character a line.
  if (stderr.columns === 0) Object.assign(stderr, { columns: 80, rows: 24 });
  const prompts = await import('@clack/prompts');
  const at = { input: stdin, output: stderr, signal };
  const said = <T>(answer: T): Exclude<T, symbol> => {
    if (prompts.isCancel(answer)) throw new Stopped();
    return answer as Exclude<T, symbol>;
  };
  return {
    asks: true,
    async text({ message, initial, check }) {
      const answer = await prompts.text({
        ...at,
        message,
        ...(initial === undefined ? {} : { placeholder: initial, defaultValue: initial }),
        validate: (text) => check?.(text === undefined || text === '' ? (initial ?? '') : text.trim()),
      });
      return said(answer).trim();
    },
    secret: async ({ message, check }) =>
      said(await prompts.password({ ...at, message, validate: (text) => check?.(text ?? '') })) ?? '',
    async choose({ message, options, initial }) {
      const answer = await prompts.select<string>({
        ...at,
        message,
        options: [...options],
        ...(initial === undefined ? {} : { initialValue: initial }),
      });
      return said(answer) as (typeof options)[number]['value'];
    },
    agree: async ({ message, initial }) =>
      said(await prompts.confirm({ ...at, message, initialValue: initial })),
  };
}

/** `--yes`: every answer is its default. */
export function askNobody(): Ask {
  const missing = (flag: string, why: string) => new UsageError(`${flag} is needed: ${why}`);
  return {
    asks: false,
    async text({ flag, message, initial = '', check }) {
      const wrong = check?.(initial);
      if (wrong === undefined) return initial;
      throw initial === '' ? missing(flag, message) : new UsageError(`${flag} "${initial}": ${wrong}`);
    },
    async secret({ flag, message, check }) {
      if (check?.('') === undefined) return '';
      throw missing(flag, message);
    },
    async choose({ flag, message, initial }) {
      if (initial === undefined) throw missing(flag, message);
      return initial;
    },
    agree: async ({ initial }) => initial,
  };
}

/** What is wrong with an address; `-` stands for no address. */
export function addressProblem(text: string): string | undefined {
  return text === '-' || /^[^\s@]+@[^\s@]+$/.test(text) ? undefined : 'Use an address, or - for none.';
}
