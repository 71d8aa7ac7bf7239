/**
 * The keys that sign tokens: Ed25519 (RFC 8037), the private half encrypted in the store, created at first use. A
 * rotation adds a key: the newest signs, all verify. Two nodes that start together may each add one; both are valid.
 * Rows never change. If a stored key cannot be decrypted, the secret key is wrong; this is thrown, because signing with
 * a new key would hide it.
 */

import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import { calculateJwkThumbprint } from 'jose';
import type { Clock } from '../../lib/clock.ts';
import type { Random } from '../../lib/random.ts';
import type { Sealer } from '../../lib/seal.ts';
import { createSharedWork } from '../../lib/shared-work.ts';
import { StoreRefused } from '../../store/shared/refusal.ts';
import type { Store } from '../../store/store.ts';

/** Public key as published (RFC 7517, RFC 8037). */
export interface PublicJwk {
  kty: 'OKP';
  crv: 'Ed25519';
  x: string;
  kid: string;
  alg: 'EdDSA';
  use: 'sig';
}

export interface SigningKeys {
  /** The newest key; the first call ever creates one. */
  signer(): Promise<{ kid: string; privateKey: KeyObject }>;
  /** The key to verify with, or null. For an unknown kid the store is read again, at most once in 5 s. */
  verifier(kid: string): Promise<KeyObject | null>;
  /** All public keys, newest first. */
  jwks(): Promise<{ keys: PublicJwk[] }>;
}

interface LoadedKey {
  kid: string;
  createdAt: number;
  privateSealed: Uint8Array;
  publicKey: KeyObject;
  jwk: PublicJwk;
}

/** Purpose under which the private keys are encrypted. */
export const KEY_SEAL = 'token-signing-key';
/** PKCS#8 for Ed25519 up to the 32 bytes of the seed (RFC 8410 §7). */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');
/** Forged kids must not cause a store read each. */
const RELOAD_AFTER_MS = 5_000;

/**
 * Throws if the stored keys were encrypted with a secret that is not configured. This is found at the start, and not
 * later by mail that is held because nothing can sign it.
 */
export async function requireSealingSecret(store: Pick<Store, 'signingKeys'>, sealer: Sealer): Promise<void> {
  for (const { privateSealed } of await store.signingKeys()) {
    try {
      sealer.open(privateSealed, KEY_SEAL);
    } catch (cause) {
      throw new StoreRefused(
        'unfit',
        'The keys in the database were encrypted with another secret-key. Give this process the same one as the others: the content of the file secret-key in the data folder of the first. To change it, give both: secret-key=NEW,OLD',
        { cause },
      );
    }
  }
}

/** Signing keys in `store`, read once and cached. */
export function createSigningKeys(deps: {
  store: Pick<Store, 'signingKeys' | 'addSigningKey'>;
  clock: Clock;
  random: Random;
  sealer: Sealer;
}): SigningKeys {
  const { store, clock, random, sealer } = deps;
  let known: readonly LoadedKey[] = [];
  let loadedAtMs = Number.NEGATIVE_INFINITY;
  const loading = createSharedWork<void>();
  let opened: { kid: string; privateKey: KeyObject } | null = null;

  /** Reads the rows, creates the first key if there is none; concurrent callers share one run. */
  function load(): Promise<void> {
    return loading.of('keys', async () => {
      let rows = await store.signingKeys();
      if (rows.length === 0) {
        await store.addSigningKey(await makeKey());
        rows = await store.signingKeys();
      }
      known = rows.map(parseRow).sort((a, b) => b.createdAt - a.createdAt || (a.kid < b.kid ? -1 : 1));
      loadedAtMs = clock.monotonicMs();
    });
  }

  async function makeKey() {
    const der = Buffer.concat([PKCS8_PREFIX, random.bytes(32)]);
    const privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
    const { x } = createPublicKey(privateKey).export({ format: 'jwk' });
    const jwk = { kty: 'OKP', crv: 'Ed25519', x: String(x) };
    const kid = (await calculateJwkThumbprint(jwk)).slice(0, 16);
    const privateSealed = sealer.seal(der, KEY_SEAL);
    der.fill(0);
    return { kid, privateSealed, publicJwk: JSON.stringify(jwk), createdAt: clock.now() };
  }

  return {
    async signer() {
      if (known.length === 0) await load();
      const newest = known[0];
      if (newest === undefined) throw new Error('The store kept no signing key');
      if (opened?.kid !== newest.kid) {
        const der = Buffer.from(sealer.open(newest.privateSealed, KEY_SEAL));
        opened = {
          kid: newest.kid,
          privateKey: createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }),
        };
      }
      return opened;
    },
    async verifier(kid) {
      let key = known.find((k) => k.kid === kid);
      if (key === undefined && clock.monotonicMs() - loadedAtMs >= RELOAD_AFTER_MS) {
        await load();
        key = known.find((k) => k.kid === kid);
      }
      return key?.publicKey ?? null;
    },
    async jwks() {
      if (clock.monotonicMs() - loadedAtMs >= RELOAD_AFTER_MS) await load();
      return { keys: known.map((key) => key.jwk) };
    },
  };
}

function parseRow(row: {
  kid: string;
  privateSealed: Uint8Array;
  publicJwk: string;
  createdAt: number;
}): LoadedKey {
  const { x } = JSON.parse(row.publicJwk) as { x: string };
  const jwk: PublicJwk = { kty: 'OKP', crv: 'Ed25519', x, kid: row.kid, alg: 'EdDSA', use: 'sig' };
  return {
    kid: row.kid,
    createdAt: row.createdAt,
    privateSealed: row.privateSealed,
    publicKey: createPublicKey({ key: { kty: jwk.kty, crv: jwk.crv, x }, format: 'jwk' }),
    jwk,
  };
}
