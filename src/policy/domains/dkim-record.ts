/**
 * Reads a DKIM key record (RFC 6376 §3.6.1) and compares it with the key that we sign with. Takes one text from DNS of
 * any length and content; returns its tags, or the result of the comparison. Accepts blanks anywhere and pieces joined
 * with blanks between them, as DNS panels make them. Never throws.
 */
import { readTagList } from '../../mail/tag-list.ts';

export interface DkimRecord {
  /** Without blanks; '' is a revoked key; undefined where there is no `p=`. */
  publicKey: string | undefined;
  version: string | undefined;
  /** Lower case; default `rsa`. */
  keyType: string;
  /** Lower case items; undefined: all. */
  hashes: readonly string[] | undefined;
  services: readonly string[] | undefined;
  flags: readonly string[];
  /** The DNS panel stored quotes or backslashes as part of the text, which verifiers do not accept. */
  escaped: boolean;
}

/** How a published record compares with our key. */
export type KeyComparison =
  | { kind: 'match'; testing: boolean }
  /** `p=` is empty (RFC 6376 §3.6.1: revoked). */
  | { kind: 'revoked' }
  /** No `p=` at all, or another `v=`. */
  | { kind: 'not-a-key' }
  | { kind: 'escaped' }
  /** `k=`, `h=` or `s=` exclude our signatures; `tag` is the one that does. */
  | { kind: 'unusable'; tag: 'k' | 'h' | 's' }
  /** `otherCase`: the same letters, some in another case. */
  | { kind: 'different'; foundLength: number; ourLength: number; truncated: boolean; otherCase: boolean };

/** More than any key needs; the rest of a longer text is ignored. */
const MAX_TEXT = 16_384;
const MAX_TAGS = 64;

/** The tags of a record. Of a repeated tag the first counts; invalid tags are skipped. */
export function parseDkimRecord(text: string): DkimRecord {
  const given = text.slice(0, MAX_TEXT);
  const escaped = given.includes('"') || given.includes('\\');
  const tags = readTagList(escaped ? given.replace(/["\\]/g, '') : given, MAX_TAGS);
  const value = (name: string) => tags.get(name)?.replace(/\s+/g, '');
  return {
    publicKey: value('p'),
    version: value('v'),
    keyType: (value('k') ?? 'rsa').toLowerCase(),
    hashes: items(value('h')),
    services: items(value('s')),
    flags: items(value('t')) ?? [],
    escaped,
  };
}

/** Compares one published text with our `p=` value. */
export function compareKey(text: string, publicKey: string): KeyComparison {
  const record = parseDkimRecord(text);
  if (record.publicKey === undefined || (record.version !== undefined && record.version !== 'DKIM1')) {
    return { kind: 'not-a-key' };
  }
  if (record.publicKey === '') return { kind: 'revoked' };
  if (record.publicKey !== publicKey) {
    return {
      kind: 'different',
      foundLength: record.publicKey.length,
      ourLength: publicKey.length,
      truncated: publicKey.startsWith(record.publicKey),
      otherCase: record.publicKey.toLowerCase() === publicKey.toLowerCase(),
    };
  }
  if (record.escaped) return { kind: 'escaped' };
  if (record.keyType !== 'rsa') return { kind: 'unusable', tag: 'k' };
  if (record.hashes !== undefined && !record.hashes.includes('sha256')) return { kind: 'unusable', tag: 'h' };
  if (record.services !== undefined && !record.services.some((s) => s === '*' || s === 'email')) {
    return { kind: 'unusable', tag: 's' };
  }
  return { kind: 'match', testing: record.flags.includes('y') };
}

function items(value: string | undefined): readonly string[] | undefined {
  return value === undefined ? undefined : value.toLowerCase().split(':', MAX_TAGS);
}
