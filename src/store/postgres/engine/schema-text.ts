/**
 * The schema of a database as text, from its catalogue: tables with columns, constraints, indexes and sequences, in
 * order. Databases with the same text have the same schema.
 */
import type { Db } from './db.ts';

const COLUMNS = `SELECT c.relname AS name, string_agg(format('  %I %s%s%s%s%s', a.attname, format_type(a.atttypid, a.atttypmod),
    CASE WHEN a.attcollation <> t.typcollation THEN format(' COLLATE %I', l.collname) END,
    CASE a.attcompression WHEN 'l' THEN ' COMPRESSION lz4' WHEN 'p' THEN ' COMPRESSION pglz' END,
    CASE WHEN a.attidentity <> '' THEN ' IDENTITY' WHEN d.oid IS NOT NULL THEN ' DEFAULT ' || pg_get_expr(d.adbin, d.adrelid) END,
    CASE WHEN a.attnotnull THEN ' NOT NULL' END), E',\\n' ORDER BY a.attnum) AS columns
  FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    JOIN pg_type t ON t.oid = a.atttypid LEFT JOIN pg_collation l ON l.oid = a.attcollation
    LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
  WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
  GROUP BY c.relname ORDER BY c.relname COLLATE "C"`;

const INDEXES = `SELECT replace(pg_get_indexdef(i.indexrelid), current_schema() || '.', '') AS text
  FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
  WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
  ORDER BY i.indexrelid::regclass::text COLLATE "C"`;

/** Of the current schema of the connection. */
export async function schemaText(db: Db): Promise<string> {
  const tables = await db.all<{ name: string; columns: string }>(COLUMNS);
  const indexes = await db.all<{ text: string }>(INDEXES);
  return [
    ...tables.map(({ name, columns }) => `CREATE TABLE ${name} (\n${columns}\n);`),
    ...indexes.map(({ text }) => `${text};`),
    '',
  ].join('\n');
}
