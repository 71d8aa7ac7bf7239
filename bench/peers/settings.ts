// What the products have in common when they are set up: a signing key, a certificate, how recipients are sent, free ports, running a command to its end.
import { execFile } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../../src/lib/clock.ts';
import { createSystemRandom } from '../../src/lib/random.ts';
import { makeSelfSigned } from '../../src/net/self-signed.ts';
import type { Certificate } from '../types.ts';

/** Selector under which every peer signs. */
export const SELECTOR = 'bench';
/** Size of every product's RSA key. */
export const RSA_BITS = 2048;

/** A fresh RSA key as PKCS#1 PEM, which opendkim and Haraka both read. */
export function signingKeyPem(): string {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: RSA_BITS });
  return privateKey.export({ type: 'pkcs1', format: 'pem' }).toString();
}

/** Writes a self-signed certificate and its key (P-256) into the folder. */
export function makeCertificate(folder: string): Certificate {
  const { cert, key } = makeSelfSigned({ clock: systemClock, random: createSystemRandom() }, ['localhost']);
  const files = { certFile: join(folder, 'certificate.pem'), keyFile: join(folder, 'key.pem') };
  writeFileSync(files.certFile, cert);
  writeFileSync(files.keyFile, key, { mode: 0o600 });
  return files;
}

/** How a product sends a message with several recipients at one site; undefined = there is one. */
export type Grouping = 'alone' | 'together' | undefined;

/** The product's name in the table. */
export function nameOf(product: string, grouping: Grouping): string {
  if (grouping === undefined) return product;
  return `${product}, ${grouping === 'alone' ? 'one recipient a transaction' : 'recipients together'}`;
}

/** Runs a command to its end (≤ 60 s); resolves with its output, rejects with it where the exit code is not 0. */
export function run(
  command: string,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(
      command,
      [...args],
      { env: { ...process.env, ...env }, timeout: 60_000, encoding: 'utf8' },
      (error, stdout, stderr) => {
        if (error === null) resolve(stdout);
        else reject(new Error(`${command} ${args.join(' ')} failed:\n${stdout}${stderr}`, { cause: error }));
      },
    );
  });
}
