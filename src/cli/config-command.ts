/**
 * `config` prints the configuration in force, without secrets. If a server runs on the data folder it is asked, because it
 * may have been started with other flags. Otherwise, or if a mode or keys are given, it prints what a start would use.
 */
import type { ConfigAnswer } from '../client/api-types.ts';
import { configRows } from '../config/shown.ts';
import { type ConfigKey, environmentName } from '../config/table.ts';
import { loadConfig } from '../config.ts';
import { pidOfServer, whyUnreachable } from '../lib/data-files.ts';
import { runningApi } from './api-client.ts';
import type { CommandContext } from './command.ts';
import { type Screen, styled, table, UsageError, wrapped } from './terminal.ts';

type Row = Omit<ReturnType<typeof configRows>[number], 'key'> & { key: string };

/** `flags`: keys named on the command line, beside the data folder. */
export async function showConfig(
  context: CommandContext,
  mode: string | undefined,
  flags: Readonly<Record<string, string | undefined>>,
): Promise<void> {
  if (mode !== undefined && mode !== 'dev' && mode !== 'serve') {
    throw new UsageError('--mode must be dev or serve');
  }
  const { terminal } = context;
  const named = mode !== undefined || Object.keys(flags).length > 0;
  const running = named ? null : await runningApi(context.flags, terminal, context.json);
  const loaded = loadConfig(mode ?? 'serve', { ...context.flags, ...flags }, terminal.environment);
  const folder = loaded.config.data;
  const usual = named ? '' : `${nobody(folder)}; `;
  const about =
    running === null
      ? `${usual}these are the values that a start of ${mode ?? 'serve'} would use`
      : `these are the values of the server at ${running.url}, on ${folder}`;
  const { shown, rows } =
    running === null
      ? { shown: mode ?? 'serve', rows: configRows(mode ?? 'serve', loaded) }
      : await rowsOf(running);
  // Not among the rows, so that programs get a list of keys.
  terminal.stderr.write(`postrider config: ${about} (mode ${shown}).\n`);
  context.print(rows, configText(terminal.stdout, rows));
}

/** Why the values are not those of a server. One of an older version proves nothing to a command, until it is restarted. */
function nobody(folder: string): string {
  const pid = pidOfServer(folder);
  if (pid === null) return `no server answers on ${folder}`;
  const why = whyUnreachable(pid);
  return why !== null
    ? `the server with pid ${pid}, on ${folder}, cannot be reached: ${why}`
    : `the server with pid ${pid}, on ${folder}, does not answer this command, as before a restart after an upgrade`;
}

/** A table for pipes and files; at a terminal, which is too narrow for it, each meaning stands below its key. */
export function configText(screen: Screen, rows: readonly Row[]): string {
  if (screen.isTTY !== true) {
    return table([
      ['KEY', 'VALUE', 'FROM', 'DEFAULT', 'MEANING'],
      ...rows.map((row) => [row.key, row.value ?? '-', row.source, row.default ?? '-', row.meaning]),
    ]);
  }
  return rows
    .map((row) => {
      const from =
        row.source === 'default' ? '' : `  (from ${row.source}; default: ${row.default ?? 'not set'})`;
      const first = `${styled(screen, 'bold', row.key)}  ${row.value ?? 'not set'}${from}`;
      return `${first}\n    ${wrapped(screen, 4, row.meaning.replaceAll('`', ''))}`;
    })
    .join('\n');
}

async function rowsOf(
  api: NonNullable<Awaited<ReturnType<typeof runningApi>>>,
): Promise<{ shown: string; rows: readonly Row[] }> {
  const { Mode, Items } = await api.call<ConfigAnswer>('GET', '/config');
  const rows = Items.map((item) => ({
    key: item.Key,
    value: item.Value,
    source: item.Source,
    environment: item.Key.includes('[') ? '' : environmentName(item.Key as ConfigKey),
    default: item.Default,
    meaning: item.Meaning,
  }));
  return { shown: Mode, rows };
}
