/**
 * The numbered changes of the schema. One that is the same in both engines is a file of `store/migrations`, where a word
 * in braces stands for a type that the engines spell differently; the others are in `store/<engine>/migrations`. The first
 * line of a file says which programs the change leaves able to work: `-- works with programs since 206` are those that know
 * the schema up to number 206 or further; `since` its own number, only those that know the change itself.
 */
import { readdirSync, readFileSync } from 'node:fs';

/** One numbered change of the schema. */
export interface Migration {
  version: number;
  sql: string;
  /** The least number of the schema that a program must know to work with the database after this change; else its own. */
  since?: number;
}

/** What a column holds, in both engines. */
const TYPES = {
  text: { sqlite: 'TEXT', postgres: 'text COLLATE "C"' },
  /** A list of texts: JSON in SQLite. */
  texts: { sqlite: 'TEXT', postgres: 'text[] COLLATE "C"' },
  /** Milliseconds since 1970. */
  instant: { sqlite: 'INTEGER', postgres: 'int8' },
  count: { sqlite: 'INTEGER', postgres: 'int4' },
  /** That a row has, or an epoch. */
  number: { sqlite: 'INTEGER', postgres: 'int8' },
  /** With `DEFAULT false` or `true` in both, which SQLite reads as 0 and 1. */
  flag: { sqlite: 'INTEGER', postgres: 'bool' },
  bytes: { sqlite: 'BLOB', postgres: 'bytea' },
};

type Engine = 'sqlite' | 'postgres';

/** The migrations of an engine, ascending. Throws for an unknown word in braces. */
export function readMigrations(engine: Engine): Migration[] {
  return [...filesOf('../migrations/'), ...filesOf(`../${engine}/migrations/`)]
    .sort((a, b) => a.version - b.version)
    .map(({ version, url }) => toMigration(version, inDialect(engine, readFileSync(url, 'utf8'))));
}

/** A change as its file tells it. */
export function toMigration(version: number, sql: string): Migration {
  const since = /^-- works with programs since (\d+)\n/.exec(sql)?.[1];
  return since === undefined ? { version, sql } : { version, sql, since: Number(since) };
}

function filesOf(place: string) {
  const folder = new URL(place, import.meta.url);
  return readdirSync(folder)
    .filter((name) => /^\d{4}-[a-z0-9-]+\.sql$/.test(name))
    .map((name) => ({ version: Number(name.slice(0, 4)), url: new URL(name, folder) }));
}

/** The text of a migration as this engine reads it. */
export function inDialect(engine: Engine, sql: string): string {
  return sql.replace(/\{([a-z]+)\}/g, (_, word: string) => {
    if (!Object.hasOwn(TYPES, word)) throw new TypeError(`No engine knows a column of {${word}}`);
    return TYPES[word as keyof typeof TYPES][engine];
  });
}
