/**
 * The names of the files in a data folder, and the note in which a running server says where it listens. The names are
 * in the documentation and in the folders of all servers.
 */
import { existsSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';

export const DATA_FILES = {
  config: 'postrider.json',
  database: 'postrider.db',
  nodeId: 'node-id',
  secretKey: 'secret-key',
  adminToken: 'admin-token',
  server: 'server.json',
  shaping: 'shaping.json',
  replyRules: 'reply-rules.json',
} as const;

/**
 * Makes a folder that only its owner can use, and those above it. `recursive` of Node never ends where nothing can be made,
 * as in /proc.
 */
export function makeFolder(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'EEXIST' && statSync(path).isDirectory()) return;
    if (code !== 'ENOENT' || existsSync(dirname(path))) throw cause;
    makeFolder(dirname(path));
    makeFolder(path);
  }
}

/** The note of the folder's server, which may have been killed since; null: there is none. */
export function readServerNote(folder: string): { url: string; pid: number } | null {
  try {
    const { url, pid } = JSON.parse(readFileSync(join(folder, DATA_FILES.server), 'utf8'));
    return typeof url === 'string' && typeof pid === 'number' ? { url, pid } : null;
  } catch {
    return null;
  }
}
