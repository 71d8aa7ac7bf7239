/** `config`: the effective configuration, without secrets. */
import { CONFIG_KEYS, type ConfigKey, loadConfig, shownValue } from '../config.ts';
import type { CommandContext } from './command.ts';
import { styled, table, UsageError } from './terminal.ts';

export function showConfig(
  context: CommandContext,
  mode: string | undefined,
  flags: Readonly<Record<string, string | undefined>>,
): void {
  if (mode !== 'dev' && mode !== 'serve') throw new UsageError('--mode must be dev or serve');
  const { origins } = loadConfig(mode, flags, context.terminal.environment);
  const keys = Object.keys(CONFIG_KEYS) as ConfigKey[];
  const rows = keys.map((name) => {
    const facts = CONFIG_KEYS[name];
    const { text, source } = origins[name];
    return {
      key: name,
      value: text === null ? null : shownValue(name, text),
      source,
      environment: facts.environment,
      default: facts.defaults[mode],
      meaning: facts.notYet ? `${facts.meaning} (not in this version)` : facts.meaning,
    };
  });
  const head = ['KEY', 'VALUE', 'FROM', 'MEANING'].map((text) =>
    styled(context.terminal.stdout, 'bold', text),
  );
  context.print(
    rows,
    table([head, ...rows.map((row) => [row.key, row.value ?? '-', row.source, row.meaning])]),
  );
}
