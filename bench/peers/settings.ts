// What the products have in common when they are set up: a signing key, free ports, running a command to its end.
import { execFile } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:net';

/** Selector under which every peer signs. */
export const SELECTOR = 'bench';
/** Size of every product's RSA key. */
export const RSA_BITS = 2048;

/** A fresh RSA key as PKCS#1 PEM, which opendkim and Haraka both read. */
export function signingKeyPem(): string {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: RSA_BITS });
  return privateKey.export({ type: 'pkcs1', format: 'pem' }).toString();
}

/** A loopback port that was free a moment ago (for products that can't say which one they took). */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => {
        if (address !== null && typeof address === 'object') resolve(address.port);
        else reject(new Error('no port'));
      });
    });
  });
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
