/**
 * How a failed command ends: a sentence on standard error, or with `--json` one line of JSON there, and an exit code.
 * The JSON has these members of the API's refusals: `Error`, and `Errors` if the server sent them; and `ExitCode`.
 */
import { ConfigError } from '../config.ts';
import { asErrors, isJournal } from '../lib/log-sink.ts';
import { whyNot } from '../lib/why-not.ts';
import { Failure, jsonText, printableLines, type Terminal, UsageError } from './terminal.ts';

/** Writes what went wrong and returns the exit code: 2 for wrong usage, otherwise 1. */
export function reportFailure(
  cause: unknown,
  { stderr, environment }: Pick<Terminal, 'stderr' | 'environment'>,
  json: boolean,
): 1 | 2 {
  const code = cause instanceof UsageError || cause instanceof ConfigError ? 2 : 1;
  const { stack } = cause as Error;
  const message = sentenceOf(cause as NodeJS.ErrnoException);
  if (json) {
    const named = cause instanceof Failure ? cause.errors : [];
    stderr.write(failureLine(message, code, named));
  } else {
    const text = `postrider: ${printableLines(message)}\n`;
    stderr.write(isJournal(2, environment.JOURNAL_STREAM) ? asErrors(text) : text);
  }
  if (code === 1 && environment.POSTRIDER_LOG_LEVEL === 'debug') stderr.write(`${stack}\n`);
  return code;
}

/** The line of JSON, with its end. */
export function failureLine(message: string, exitCode: 1 | 2, errors: readonly object[] = []): string {
  const body = { Error: message, ...(errors.length === 0 ? {} : { Errors: errors }), ExitCode: exitCode };
  return `${jsonText(body)}\n`;
}

/** An error of the file system that no command foresaw names the file and why, in place of `ENOENT: …, open '…'`. */
function sentenceOf(cause: NodeJS.ErrnoException): string {
  const { message, path, syscall } = cause;
  return path === undefined || syscall === undefined
    ? message
    : `${path} cannot be used: ${whyNot(cause)} (${syscall})`;
}
