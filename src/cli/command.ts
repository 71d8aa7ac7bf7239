/** What every command is given, and the shape of its help. */
import type { Command } from 'commander';
import type { Api } from './api-client.ts';
import type { Terminal } from './terminal.ts';

export interface CommandContext {
  terminal: Terminal;
  version: string;
  /** Configuration flags given on the command line, by key. */
  flags: Readonly<Record<string, string | undefined>>;
  json: boolean;
  /** `words` behind the program's name and the data folder, as the user can paste it: for hints. */
  command(words: string): string;
  /** Runs `work` with the server's API, and closes it whatever happens. `existing`: makes no new data folder. */
  withApi<T>(work: (api: Api) => Promise<T>, options?: { existing?: boolean }): Promise<T>;
  /** The command ran and its result is negative: exit code 1, without a further message. */
  fail(): void;
  /** Prints `value` as JSON where `--json` was given, else `text`. */
  print(value: unknown, text: string): void;
}

/** Adds a group of commands to the program. `context` is valid once an action runs. */
export type CommandGroup = (program: Command, context: () => CommandContext) => void;

/** An `Example:` section for a command's help. */
export function example(...lines: string[]): string {
  return `\nExample:\n${lines.map((line) => `  $ ${line}`).join('\n')}`;
}
