/**
 * Encrypts secrets at rest (private keys, webhook secrets; "sealing") and derives keys for tokens, all from the
 * instance secret.
 *
 * AES-256-GCM with a key that HKDF-SHA256 (RFC 5869) derives from the instance secret and a purpose, so that a value
 * sealed for one purpose cannot be opened for another. A sealed value is: version (1 octet, 1), length of the key id (1
 * octet), key id, nonce (12), ciphertext, tag (16); everything before the ciphertext is authenticated too. Nonces are
 * random and never from a seedable source: 2^32 values may be sealed per secret and purpose, far more than exist.
 *
 * Takes the instance secrets, newest first. A value that cannot be opened throws `SealError`, which does not say how
 * altered bytes differ.
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

export interface SealKey {
  /** 1–64 of `A–Z a–z 0–9 . _ -`; readable in every value that it sealed. */
  id: string;
  /** At least 16 octets of full entropy; passwords are not supported. */
  secret: Uint8Array;
}

/**
 * `malformed`: not a sealed value of a known version. `unknown-key`: its key is gone. `refused`: altered, or sealed for
 * another purpose.
 */
export type SealFailure = 'malformed' | 'unknown-key' | 'refused';

/** Thrown by `open`. Contains neither plain text nor key. */
export class SealError extends Error {
  readonly reason: SealFailure;

  constructor(reason: SealFailure, message: string) {
    super(message);
    this.name = 'SealError';
    this.reason = reason;
  }
}

export interface Sealer {
  /**
   * Encrypts `plain` with the first key; two calls never return the same bytes. `plain.length + 30 + id length` octets.
   */
  seal(plain: Uint8Array, purpose: string): Uint8Array;
  /** Decrypts a value sealed for the same purpose with any of the keys. Throws `SealError`. */
  open(sealed: Uint8Array, purpose: string): Uint8Array;
  /** 32 octets for one purpose, always the same, from the first key. */
  deriveKey(purpose: string): Uint8Array;
  /** As `deriveKey`, for every key in order, to read what an older secret made. */
  deriveKeys(purpose: string): readonly { id: string; key: Uint8Array }[];
}

const VERSION = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const KEY_BYTES = 32;
const MIN_SECRET_BYTES = 16;
const KEY_ID = /^[A-Za-z0-9._-]{1,64}$/;

/**
 * The first key seals, all can open. Throws `RangeError` if there is no key, an id is invalid or used twice, or a
 * secret is too short.
 */
export function createSealer(keys: readonly SealKey[]): Sealer {
  const byId = new Map<string, SealKey>();
  for (const { id, secret } of keys) {
    if (!KEY_ID.test(id))
      throw new RangeError('the id of a sealing key is not 1 to 64 letters, digits, dots or dashes');
    if (byId.has(id)) throw new RangeError('two sealing keys have the same id');
    if (secret.length < MIN_SECRET_BYTES) throw new RangeError('a sealing secret has fewer than 16 octets');
    // A copy, so that later changes to the caller's buffer have no effect.
    byId.set(id, { id, secret: Uint8Array.from(secret) });
  }
  const first = byId.values().next().value;
  if (first === undefined) throw new RangeError('sealing needs a key');

  return {
    seal(plain, purpose) {
      const head = Buffer.concat([
        Uint8Array.of(VERSION, first.id.length),
        Buffer.from(first.id, 'latin1'),
        randomBytes(NONCE_BYTES),
      ]);
      const cipher = createCipheriv('aes-256-gcm', derive(first, 'seal', purpose), nonceOf(head));
      cipher.setAAD(head);
      return Buffer.concat([head, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
    },
    open(sealed, purpose) {
      const idLength = sealed[1] ?? 0;
      const headLength = 2 + idLength + NONCE_BYTES;
      if (sealed[0] !== VERSION || sealed.length < headLength + TAG_BYTES) {
        throw new SealError('malformed', 'this is not a sealed value of a known version');
      }
      const key = byId.get(Buffer.from(sealed.subarray(2, 2 + idLength)).toString('latin1'));
      if (key === undefined)
        throw new SealError('unknown-key', 'the secret that this was sealed with is not there');
      const head = sealed.subarray(0, headLength);
      const tagAt = sealed.length - TAG_BYTES;
      const decipher = createDecipheriv(
        'aes-256-gcm',
        derive(key, 'seal', purpose),
        nonceOf(head),
        // Without this option GCM would accept shorter tags.
        { authTagLength: TAG_BYTES },
      );
      decipher.setAAD(head);
      decipher.setAuthTag(sealed.subarray(tagAt));
      const plain = decipher.update(sealed.subarray(headLength, tagAt));
      try {
        return Buffer.concat([plain, decipher.final()]);
      } catch {
        throw new SealError(
          'refused',
          'the sealed value was altered, or sealed for another purpose or instance',
        );
      }
    },
    deriveKey: (purpose) => derive(first, 'derive', purpose),
    deriveKeys: (purpose) =>
      [...byId.values()].map((key) => ({ id: key.id, key: derive(key, 'derive', purpose) })),
  };
}

function nonceOf(head: Uint8Array): Uint8Array {
  return head.subarray(head.length - NONCE_BYTES);
}

/**
 * `use` separates sealing keys from derived keys of the same purpose. Not cached: it takes 5 µs, and a cache would have
 * to be limited.
 */
function derive(key: SealKey, use: 'seal' | 'derive', purpose: string): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', key.secret, '', `postrider/${use}/1/${purpose}`, KEY_BYTES));
}
