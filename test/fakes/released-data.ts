/**
 * The data folders of released versions (test/vectors/upgrade), each with mail in every state: delivered, bounced,
 * deferred, suppressed, captured, scheduled, canceled and held. They were filled by that version itself; 0.1.0, which has
 * no tag, by commit ace21e8.
 */
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';

export const RELEASED = [{ version: '0.1.0', schema: 39 }] as const;

/** Puts the folder of `version` into `folder`; the path of its database. */
export function unpackReleased(version: string, folder: string): string {
  const from = fileURLToPath(new URL(`../vectors/upgrade/${version}/`, import.meta.url));
  mkdirSync(folder, { recursive: true });
  for (const name of ['secret-key', 'node-id', 'admin-token']) copyFileSync(from + name, join(folder, name));
  const database = join(folder, 'postrider.db');
  writeFileSync(database, gunzipSync(readFileSync(`${from}postrider.db.gz`)), { mode: 0o600 });
  return database;
}
