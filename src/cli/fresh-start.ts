/**
 * How a development server begins again with no data: what `dev` says at its start. Takes the configuration and reads the
 * names in the data folder. Says nothing where deleting the folder would delete files of others, such as a project, or
 * would not delete the data.
 */
import { readdirSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { databaseFile } from '../config/database-file.ts';
import type { Config } from '../config/table.ts';

/** What a server puts into its data folder, and what an operator does. */
const OWN =
  /^(?:postrider\.(?:db|log|json)\b.*|node-id|secret-key|admin-token|server\.json|shaping\.json|reply-rules\.json|spool)$/;

/** The advice as the end of a sentence about stopping; empty if there is none. */
export function freshStart(config: Pick<Config, 'data' | 'database'>): string {
  const file = databaseFile(config);
  if (file === null || dirname(resolve(file)) !== resolve(config.data)) return '';
  const isOurs = readdirSync(config.data).every((name) => OWN.test(name));
  return isOurs ? `; then delete ${config.data} if you want to start again with no data` : '';
}
