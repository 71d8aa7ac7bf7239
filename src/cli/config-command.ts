/** `config`: the effective configuration, without secrets. */

import { configRows } from '../config/shown.ts';
import { loadConfig } from '../config.ts';
import type { CommandContext } from './command.ts';
import { styled, table, UsageError } from './terminal.ts';

export function showConfig(
  context: CommandContext,
  mode: string | undefined,
  flags: Readonly<Record<string, string | undefined>>,
): void {
  if (mode !== 'dev' && mode !== 'serve') throw new UsageError('--mode must be dev or serve');
  const loaded = loadConfig(mode, flags, context.terminal.environment);
  const rows = configRows(mode, loaded);
  const head = ['KEY', 'VALUE', 'FROM', 'MEANING'].map((text) =>
    styled(context.terminal.stdout, 'bold', text),
  );
  context.print(
    rows,
    table([head, ...rows.map((row) => [row.key, row.value ?? '-', row.source, row.meaning])]),
  );
}
