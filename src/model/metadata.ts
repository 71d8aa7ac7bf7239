/**
 * Metadata of a message: the sender's own texts, shown in events and webhooks and never in the mail. The rule is the
 * same for the API and for SMTP. Takes a parsed JSON value; returns the pairs, or what is wrong with which pair. Keys
 * such as `__proto__` are ordinary data.
 */
import { isEmptyList } from '../lib/json-object.ts';

export const MAX_METADATA_KEYS = 20;
export const MAX_METADATA_KEY_CHARS = 64;
export const MAX_METADATA_VALUE_CHARS = 512;
/** Octets of all keys and values in UTF-8. */
export const MAX_METADATA_BYTES = 10_000;

export type Metadata = Readonly<Record<string, string>>;

/** `key`: the pair that is wrong; null = the whole object. */
export type MetadataRead =
  | { ok: true; metadata: Metadata }
  | { ok: false; key: string | null; message: string };

/** Checks a parsed JSON value. A pair whose value is null counts as absent. */
export function readMetadata(value: unknown): MetadataRead {
  if (isEmptyList(value)) return { ok: true, metadata: {} };
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return {
      ok: false,
      key: null,
      message: 'Metadata must be an object of names and string values, like {"order": "1001"}',
    };
  }
  const pairs: [string, string][] = [];
  let bytes = 0;
  for (const [key, item] of Object.entries(value as Record<string, unknown>)) {
    if (item === null) continue;
    if (key === '' || key.length > MAX_METADATA_KEY_CHARS) {
      return { ok: false, key, message: `A key of Metadata has 1 to ${MAX_METADATA_KEY_CHARS} characters` };
    }
    if (typeof item !== 'string' || item.length > MAX_METADATA_VALUE_CHARS) {
      const message = `A value of Metadata must be a string of at most ${MAX_METADATA_VALUE_CHARS} characters`;
      return { ok: false, key, message };
    }
    if (pairs.length === MAX_METADATA_KEYS) {
      return { ok: false, key: null, message: `Metadata may hold at most ${MAX_METADATA_KEYS} keys` };
    }
    pairs.push([key.toWellFormed(), item.toWellFormed()]);
    bytes += Buffer.byteLength(key) + Buffer.byteLength(item);
  }
  if (bytes > MAX_METADATA_BYTES) {
    return { ok: false, key: null, message: `Metadata may have at most ${MAX_METADATA_BYTES} octets` };
  }
  return { ok: true, metadata: Object.fromEntries(pairs) };
}
