/**
 * Loaded before each test file: the keys of sender domains are those that `rsa-keys.ts` made, in turn, so one that follows
 * another differs from it. `dkim-keys.test.ts` makes real ones, and so do servers in processes of their own.
 */
import crypto, { type RSAKeyPairOptions } from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { inject } from 'vitest';

type Done = (error: Error | null, publicDer: Buffer, privateDer: Buffer) => void;

const { generateKeyPair } = crypto;

// Files of one process load this again.
if (generateKeyPair.name !== 'nextOfPool') {
  const keys = inject('rsaKeys');
  let given = 0;
  function nextOfPool(...args: Parameters<typeof generateKeyPair>): void {
    const [type, wanted, done] = args as unknown as [string, RSAKeyPairOptions<'der', 'der'>, Done];
    const der = wanted.publicKeyEncoding?.format === 'der' && wanted.privateKeyEncoding?.format === 'der';
    const next = keys[given % keys.length];
    if (type !== 'rsa' || wanted.modulusLength !== 2048 || !der || next === undefined) {
      generateKeyPair(...args);
      return;
    }
    given += 1;
    setImmediate(done, null, Buffer.from(next.publicKey, 'base64'), Buffer.from(next.privateKey, 'base64'));
  }
  Object.assign(crypto, { generateKeyPair: nextOfPool });
  syncBuiltinESMExports();
}
