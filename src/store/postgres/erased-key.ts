/** The key under which suppressions of erased people are stored. Their address cannot be read from it. */
import { createHmac } from 'node:crypto';
import type { Db } from './engine/db.ts';

/** The key under which an erased address is suppressed, or null if nobody was erased here. */
export async function erasedKey(db: Db, key: string): Promise<string | null> {
  const [found] = await erasedKeys(db, [key]);
  return found ?? null;
}

/** Of several addresses, in their order; nothing if nobody was erased here. */
export async function erasedKeys(db: Db, keys: readonly string[]): Promise<string[]> {
  const row = await db.get<{ value: string }>("SELECT value FROM meta WHERE name = 'erasing_key'");
  if (row === undefined) return [];
  const secret = Buffer.from(row.value, 'hex');
  return keys.map((key) => hashOf(secret, key));
}

function hashOf(secret: Uint8Array, key: string): string {
  return `hmac:${createHmac('sha256', secret).update(key).digest('hex')}`;
}
