/** Where an embedded database is. */
import { join } from 'node:path';
import { DATA_FILES } from '../lib/data-files.ts';
import { isPostgresUrl } from '../lib/postgres-url.ts';
import type { Config } from './table.ts';

/** The file of the database, or null where it is not one. */
export function databaseFile({ data, database }: Pick<Config, 'data' | 'database'>): string | null {
  if (isPostgresUrl(database)) return null;
  const path = database.slice('sqlite:'.length);
  return path === '' ? join(data, DATA_FILES.database) : path;
}
