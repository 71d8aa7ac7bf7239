/** What every step of `setup` gets, and the results that steps pass to each other. */
import type { DomainCheck } from '../../client/api-types.ts';
import type { ConfigKey } from '../../config/table.ts';
import type { LoadedConfig } from '../../config.ts';
import type { Api } from '../api-client.ts';
import type { Terminal } from '../terminal.ts';
import type { Ask } from './ask.ts';
import type { Answers } from './config-file.ts';

/** Flags of the command that are not configuration keys. */
export interface SetupOptions {
  yes?: boolean;
  relayPasswordFile?: string;
  /** A file, or false for none. */
  unit?: string | false;
  user?: string;
  zoneFile?: string;
  wait?: boolean;
  token?: boolean;
  person?: string;
  testTo?: string;
}

/** What was done, for `--json`. */
export interface SetupReport {
  DataFolder: string;
  /** Files that were written, with their full paths. */
  Written: string[];
  Checks: DomainCheck[];
  Domain: { Domain: string; Status: string; DnsRecords: readonly object[] } | null;
  Token: string | null;
  Person: { Email: string; Password: string } | null;
  TestMail: { To: string; MessageID: string; Status: string; Reply: string } | null;
  Next: string[];
}

export interface Setup {
  readonly ask: Ask;
  readonly options: SetupOptions;
  readonly terminal: Terminal;
  /** The data folder, as a full path. */
  readonly data: string;
  /** Keys given on the command line. */
  readonly flags: Readonly<Partial<Record<ConfigKey, string>>>;
  /** The future content of `postrider.json`. Steps add to it; nothing is written before the write step. */
  readonly answers: Answers;
  readonly report: SetupReport;
  /** The configuration that results from the answers so far. */
  load(): LoadedConfig;
  /** Shows a text to the person. */
  say(text: string): void;
  /** Waits for work that Ctrl-C can end (then throws Stopped). `what` is shown first. */
  during<T>(what: string, work: Promise<T>): Promise<T>;
  /** Works with the server of the data folder, or with a temporary one that has `roles`. */
  withApi<T>(work: (api: Api) => Promise<T>, roles?: string): Promise<T>;
  /** `words` as a command for this data folder that can be pasted. */
  command(words: string): string;
}

/**
 * The origin of a value that is not the default. Flags are not asked for again; other values are offered as defaults.
 */
export function known(setup: Setup, key: ConfigKey): { text: string; given: boolean } | null {
  const { text, source } = setup.load().origins[key];
  if (text === null || source === 'default') return null;
  return { text, given: setup.flags[key] !== undefined };
}
