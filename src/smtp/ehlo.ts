/**
 * The extensions in a server's EHLO reply (RFC 5321 §4.1.1.1). Only those that this client knows are read; unknown or
 * malformed lines are ignored, because a server must not lose mail by an unusual announcement.
 */
import type { Reply } from './reply.ts';

export interface Capabilities {
  /** False after a fallback to HELO: nothing is offered then. */
  readonly esmtp: boolean;
  /** RFC 2920. */
  readonly pipelining: boolean;
  /** RFC 3030: BDAT. */
  readonly chunking: boolean;
  /** `SIZE` was offered, so `SIZE=` is sent (RFC 1870). */
  readonly sizeOffered: boolean;
  /** Largest message in octets, or null for no stated limit (`SIZE`, `SIZE 0`). */
  readonly maxSize: number | null;
  /** RFC 6152. */
  readonly eightBitMime: boolean;
  /** RFC 6531. */
  readonly smtpUtf8: boolean;
  /** RFC 3207. */
  readonly startTls: boolean;
  /** RFC 3461. */
  readonly dsn: boolean;
  /** RFC 4954 mechanisms, upper case. */
  readonly auth: readonly string[];
}

/** Capabilities of a server that only supports HELO. */
export const NO_CAPABILITIES: Capabilities = {
  esmtp: false,
  pipelining: false,
  chunking: false,
  sizeOffered: false,
  maxSize: null,
  eightBitMime: false,
  smtpUtf8: false,
  startTls: false,
  dsn: false,
  auth: [],
};

const MAX_MECHANISMS = 16;

function limitOf(words: readonly string[]): number | null {
  const value = words[1];
  if (value === undefined || !/^\d{1,15}$/.test(value)) return null;
  const limit = Number(value);
  return limit === 0 ? null : limit;
}

/** Reads the lines after the greeting. Keywords are case-insensitive; `AUTH=…` of old servers counts as `AUTH …`. */
export function parseCapabilities(reply: Reply): Capabilities {
  const found = { ...NO_CAPABILITIES, esmtp: true };
  const auth = new Set<string>();
  for (const line of reply.lines.slice(1)) {
    const words = line.trim().toUpperCase().replace('AUTH=', 'AUTH ').split(' ');
    switch (words[0]) {
      case 'PIPELINING':
        found.pipelining = true;
        break;
      case 'CHUNKING':
        found.chunking = true;
        break;
      case 'SIZE':
        found.sizeOffered = true;
        found.maxSize = limitOf(words);
        break;
      case '8BITMIME':
        found.eightBitMime = true;
        break;
      case 'SMTPUTF8':
        found.smtpUtf8 = true;
        break;
      case 'STARTTLS':
        found.startTls = true;
        break;
      case 'DSN':
        found.dsn = true;
        break;
      case 'AUTH':
        for (const word of words.slice(1)) if (word !== '' && auth.size < MAX_MECHANISMS) auth.add(word);
        break;
      default:
    }
  }
  return { ...found, auth: [...auth] };
}
