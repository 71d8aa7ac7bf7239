/**
 * Recognises environment variables with our prefix that mean nothing, because a misspelled name would otherwise be
 * ignored silently.
 */
import { CONFIG_NAMES, environmentName } from './table.ts';

/**
 * Variables that an orchestrator sets for a service with our name (Kubernetes: `<NAME>_SERVICE_HOST`,
 * `<NAME>_PORT_8025_TCP` …).
 */
const OF_ORCHESTRATORS =
  /^POSTRIDER_(?:SERVICE_(?:HOST|PORT)(?:_[A-Z0-9_]+)?|PORT(?:_\d+_(?:TCP|UDP|SCTP)(?:_(?:ADDR|PORT|PROTO))?)?)$/;

/** Our variables that are not configuration: a failpoint for tests, the address and the token that applications use. */
const OTHER_VARIABLES: readonly string[] = ['POSTRIDER_FAILPOINT', 'POSTRIDER_TOKEN', 'POSTRIDER_URL'];

/** Whether a variable does not have our prefix, or has a meaning. */
export function isKnownVariable(name: string): boolean {
  if (!name.startsWith('POSTRIDER_') || OTHER_VARIABLES.includes(name)) return true;
  if (OF_ORCHESTRATORS.test(name)) return true;
  const variable = name.endsWith('_FILE') ? name.slice(0, -'_FILE'.length) : name;
  return CONFIG_NAMES.map(environmentName).some((known) => known === name || known === variable);
}
