/**
 * For vitest: makes a few RSA key pairs once for all test files, whose servers then take them in turn (`shared-rsa-keys.ts`).
 * Making one takes 150 ms of processor time, every domain needs one or two, and was a third of the work of many files.
 */
import { generateKeyPair } from 'node:crypto';
import { promisify } from 'node:util';
import type { TestProject } from 'vitest/node';

/** In DER and base64. */
export interface RsaPair {
  publicKey: string;
  privateKey: string;
}

declare module 'vitest' {
  interface ProvidedContext {
    rsaKeys: readonly RsaPair[];
  }
}

/** As many as a test compares with each other, and some. */
const KEYS = 8;

export async function setup(project: TestProject): Promise<void> {
  project.provide('rsaKeys', await Promise.all(Array.from({ length: KEYS }, make)));
}

async function make(): Promise<RsaPair> {
  const { publicKey, privateKey } = await promisify(generateKeyPair)('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'der' },
    privateKeyEncoding: { type: 'pkcs8', format: 'der' },
  });
  return { publicKey: publicKey.toString('base64'), privateKey: privateKey.toString('base64') };
}
