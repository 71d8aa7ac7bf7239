import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { makeCertificates } from '../../../test/fakes/certificates.ts';
import { certificateProblem, findCertificate } from './certificate.ts';

const root = mkdtempSync(join(tmpdir(), 'postrider-certificate-'));
afterAll(() => rmSync(root, { recursive: true }));
const made = makeCertificates('mail.test');

function write(path: string, text: string): string {
  const file = join(root, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
}

describe('findCertificate', () => {
  it('knows where certbot and Caddy keep theirs', async () => {
    expect(await findCertificate('mail.test', root)).toBeNull();
    const caddy = 'var/lib/caddy/.local/share/caddy/certificates/acme/mail.test/mail.test';
    const cert = write(`${caddy}.crt`, '');
    expect(await findCertificate('mail.test', root)).toEqual({ cert, key: join(root, `${caddy}.key`) });
    const first = write('etc/letsencrypt/live/mail.test/fullchain.pem', '');
    expect((await findCertificate('mail.test', root))?.cert).toBe(first);
  });
});

describe.skipIf(made === null)('certificateProblem', () => {
  it('says why files are of no use', async () => {
    const { good, selfSigned } = made as NonNullable<typeof made>;
    const cert = write('a.pem', good.cert);
    const key = write('a.key', good.key);
    const other = write('b.key', selfSigned.key);
    const none = write('c.pem', 'nothing');
    expect(await certificateProblem(cert, key, 'mail.test')).toBeNull();
    expect(await certificateProblem(cert, key, 'other.test')).toMatch(/is not for other\.test/);
    expect(await certificateProblem(cert, other, 'mail.test')).toMatch(/is not the key of/);
    expect(await certificateProblem(none, key, 'mail.test')).toMatch(/is not a certificate/);
    expect(await certificateProblem(cert, none, 'mail.test')).toMatch(/is not a private key/);
    expect(await certificateProblem(join(root, 'd'), key, 'mail.test')).toMatch(/cannot be read/);
  });
});
