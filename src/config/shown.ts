/**
 * The configuration as it is shown to people: `postrider config`, GET /config, messages about a value. Without secrets.
 */
import { type Routing, routingRows } from '../config-routing.ts';
import { withoutUser } from './forms.ts';
import type { Mode } from './key-facts.ts';
import { CONFIG_KEYS, CONFIG_NAMES, type ConfigKey, environmentName } from './table.ts';

/** A value and its origin. */
export interface ConfigOrigin {
  text: string | null;
  source: 'flag' | 'environment' | 'file' | 'default';
}

/** How a key's value may be printed or logged. */
export function shownValue(name: ConfigKey, text: string): string {
  const facts = CONFIG_KEYS[name];
  if (facts.secret) return '(secret)';
  return facts.shown?.(text) ?? withoutUser(text);
}

/** Every key as it is shown: current value without secrets, origin, default, meaning. */
export function configRows(
  mode: Mode,
  { origins, routing }: { origins: Readonly<Record<ConfigKey, ConfigOrigin>>; routing: Routing },
) {
  const rows = CONFIG_NAMES.map((name) => {
    const facts = CONFIG_KEYS[name];
    const { text, source } = origins[name];
    return {
      key: name,
      value: text === null ? null : shownValue(name, text),
      source,
      environment: environmentName(name),
      default: facts.defaults[mode],
      meaning: facts.meaning,
    };
  });
  const structured = routingRows(routing).map((row) => ({
    ...row,
    source: 'file' as const,
    environment: '',
    default: null,
  }));
  return [...rows, ...structured];
}
