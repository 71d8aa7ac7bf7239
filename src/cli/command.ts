/** What every command is given, and the form of its help. */
import { Command, type Option } from 'commander';
import { type Api, type ApiOptions, EXISTING } from './api-client.ts';
import type { Terminal } from './terminal.ts';

export interface CommandContext {
  terminal: Terminal;
  version: string;
  /** Configuration flags given on the command line, by key. */
  flags: Readonly<Record<string, string | undefined>>;
  json: boolean;
  /** `words` with the program's name before and the data folder after them, as the user can paste it. */
  command(words: string): string;
  /** A sentence of the server with the commands in it in the same form. */
  asTyped(text: string): string;
  /** Runs `work` with the server's API, and closes it whatever happens. Texts are exact with `--json`. */
  withApi<T>(work: (api: Api) => Promise<T>, options?: Pick<ApiOptions, 'existing' | 'exact'>): Promise<T>;
  /** The command ran and its result is negative: exit code 1, without a further message. */
  fail(): void;
  /** Prints `value` as JSON with `--json`, otherwise `text`. */
  print(value: unknown, text: string): void;
}

/** A command whose action gets its context. `context` is valid once an action runs. */
export class ContextCommand extends Command {
  private readonly context: () => CommandContext;

  constructor(name: string | undefined, context: () => CommandContext) {
    super(name);
    this.context = context;
  }

  override createCommand(name?: string): ContextCommand {
    return new ContextCommand(name, this.context);
  }

  /** What the command does. It is given its context, then its arguments and its options. */
  runs<Given extends unknown[]>(work: (ctx: CommandContext, ...given: Given) => void | Promise<void>): this {
    return this.action((...given) => work(this.context(), ...(given as unknown as Given)));
  }

  /** Refuses the option `name` beside any of `others`, all written as `--all`. Call it when the options are there. */
  apart(name: string, ...others: string[]): this {
    const named = (long: string) => this.options.find((option) => option.long === long) as Option;
    named(name).conflicts(others.map((other) => named(other).attributeName()));
    return this;
  }

  /** An `Example:` section at the end of the command's help. */
  example(...lines: string[]): this {
    return this.addHelpText('after', `\nExample:\n${lines.map((line) => `  $ ${line}`).join('\n')}`);
  }

  /** As `asks`, for a command that makes something, also the first in a new data folder. */
  makes<Given extends unknown[]>(
    work: (ctx: CommandContext, api: Api, ...given: Given) => Promise<void>,
  ): this {
    return this.runs<Given>((ctx, ...given) => ctx.withApi((api) => work(ctx, api, ...given)));
  }

  /** As `runs`, for a command that only asks the API. It makes no new data folder. */
  asks<Given extends unknown[]>(
    work: (ctx: CommandContext, api: Api, ...given: Given) => Promise<void>,
    options: ApiOptions = EXISTING,
  ): this {
    return this.runs<Given>((ctx, ...given) => ctx.withApi((api) => work(ctx, api, ...given), options));
  }
}

export type CommandGroup = (program: ContextCommand) => void;
