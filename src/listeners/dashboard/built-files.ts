/**
 * The built files of the dashboard, in memory: some hundred kilobytes. Takes the folder; returns each file by its path
 * with its type and, if the build made them, its compressed forms. A missing folder gives an empty table.
 */
import { hash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';

export interface BuiltFile {
  type: string;
  /** Weak, because all forms of the file have the same (RFC 9110 §8.8.1). */
  etag: string;
  plain: Uint8Array;
  /** null: this form is not smaller. */
  br: Uint8Array | null;
  gzip: Uint8Array | null;
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.json': 'application/json; charset=utf-8',
};

/** By path below the folder, with `/` between names. Files of other types are left out. */
export function openBuiltFiles(folder: string): ReadonlyMap<string, BuiltFile> {
  const names = namesBelow(folder);
  const files = new Map<string, BuiltFile>();
  const packed = (name: string) => (names.has(name) ? readFileSync(join(folder, name)) : null);
  for (const name of names) {
    const type = TYPES[extname(name)];
    if (type === undefined) continue;
    const plain = readFileSync(join(folder, name));
    const etag = `W/"${hash('sha256', plain, 'base64url').slice(0, 22)}"`;
    files.set(name, { type, etag, plain, br: packed(`${name}.br`), gzip: packed(`${name}.gz`) });
  }
  return files;
}

function namesBelow(folder: string): ReadonlySet<string> {
  try {
    const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
    return new Set(names.map((name) => name.replaceAll('\\', '/')));
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return new Set();
    throw cause;
  }
}
