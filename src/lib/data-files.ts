/**
 * The names of the files in a data folder, and the note in which a running server says where it listens. The names are
 * in the documentation and in the folders of all servers.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

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

/** The note of the folder's server, which may have been killed since; null: there is none. */
export function readServerNote(folder: string): { url: string; pid: number } | null {
  try {
    const { url, pid } = JSON.parse(readFileSync(join(folder, DATA_FILES.server), 'utf8'));
    return typeof url === 'string' && typeof pid === 'number' ? { url, pid } : null;
  } catch {
    return null;
  }
}
