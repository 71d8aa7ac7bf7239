/** Reading messages: contents for delivery. */
import { read } from './engine/operation.ts';

/** Composed bytes of a message, or null if they were deleted. */
export const readContent = read('readContent', async (db, params) => {
  const sql = 'SELECT bytes FROM content WHERE message_seq = $1';
  return (await db.get<{ bytes: Uint8Array }>(sql, params.messageSeq))?.bytes ?? null;
});
