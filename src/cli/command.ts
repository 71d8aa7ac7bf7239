/** What every command is given, and the form of its help. */
import type { Command } from 'commander';
import type { Api } from './api-client.ts';
import type { Terminal } from './terminal.ts';

export interface CommandContext {
  terminal: Terminal;
  version: string;
  /** Configuration flags given on the command line, by key. */
  flags: Readonly<Record<string, string | undefined>>;
  json: boolean;
  /** `words` with the program's name before and the data folder after them, as the user can paste it. */
  command(words: string): string;
  /** Runs `work` with the server's API, and closes it whatever happens. `existing`: makes no new data folder. */
  withApi<T>(work: (api: Api) => Promise<T>, options?: { existing?: boolean }): Promise<T>;
  /** The command ran and its result is negative: exit code 1, without a further message. */
  fail(): void;
  /** Prints `value` as JSON with `--json`, otherwise `text`. */
  print(value: unknown, text: string): void;
}

/** Adds a group of commands to the program. `context` is valid once an action runs. */
export type CommandGroup = (program: Command, context: () => CommandContext) => void;

/** An `Example:` section for a command's help. */
export function example(...lines: string[]): string {
  return `\nExample:\n${lines.map((line) => `  $ ${line}`).join('\n')}`;
}
