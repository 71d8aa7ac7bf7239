/**
 * Environment names that begin like ours: which of them mean something. A name with a typing error would otherwise be left
 * unread without a word.
 */
import { CONFIG_NAMES, environmentName } from './table.ts';

/** What an orchestrator sets for a service of our name (Kubernetes: `<NAME>_SERVICE_HOST`, `<NAME>_PORT_8025_TCP` …). */
const OF_ORCHESTRATORS =
  /^POSTRIDER_(?:SERVICE_(?:HOST|PORT)(?:_[A-Z0-9_]+)?|PORT(?:_\d+_(?:TCP|UDP|SCTP)(?:_(?:ADDR|PORT|PROTO))?)?)$/;

/** Ours, and no configuration: a failpoint of tests, the token that applications are given. */
const OTHER_VARIABLES: readonly string[] = ['POSTRIDER_FAILPOINT', 'POSTRIDER_TOKEN'];

/** Whether an environment name is none of ours, or one that has a meaning. */
export function isKnownVariable(name: string): boolean {
  if (!name.startsWith('POSTRIDER_') || OTHER_VARIABLES.includes(name)) return true;
  if (OF_ORCHESTRATORS.test(name)) return true;
  const variable = name.endsWith('_FILE') ? name.slice(0, -'_FILE'.length) : name;
  return CONFIG_NAMES.map(environmentName).some((known) => known === name || known === variable);
}
