/** The certificate of this host, where certbot and Caddy keep theirs, and whether it can be used. Only reads files. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { systemClock } from '../../lib/clock.ts';
import { whyNot } from '../files.ts';

const CERTBOT = 'etc/letsencrypt/live';
const CADDY = 'var/lib/caddy/.local/share/caddy/certificates';

/** The files for `host`, or null. `root`: for tests. */
export async function findCertificate(
  host: string,
  root = '/',
): Promise<{ cert: string; key: string } | null> {
  const authorities = await readdir(join(root, CADDY)).catch(() => []);
  const places = [
    { cert: join(root, CERTBOT, host, 'fullchain.pem'), key: join(root, CERTBOT, host, 'privkey.pem') },
    ...authorities.map((name) => ({
      cert: join(root, CADDY, name, host, `${host}.crt`),
      key: join(root, CADDY, name, host, `${host}.key`),
    })),
  ];
  return places.find(({ cert }) => existsSync(cert)) ?? null;
}

/** Why these files are of no use for `host`, in a clause, or null. */
export async function certificateProblem(cert: string, key: string, host: string): Promise<string | null> {
  const texts: string[] = [];
  for (const file of [cert, key]) {
    try {
      texts.push(await readFile(file, 'utf8'));
    } catch (cause) {
      return `${file} cannot be read: ${whyNot(cause)}`;
    }
  }
  const [certText = '', keyText = ''] = texts;
  let certificate: X509Certificate;
  try {
    certificate = new X509Certificate(certText);
  } catch {
    return `${cert} is not a certificate in PEM form`;
  }
  try {
    if (!certificate.checkPrivateKey(createPrivateKey(keyText))) return `${key} is not the key of ${cert}`;
  } catch {
    return `${key} is not a private key in PEM form`;
  }
  if (certificate.checkHost(host) === undefined) return `${cert} is not for ${host}`;
  if (Date.parse(certificate.validTo) < systemClock.now()) return `${cert} ended on ${certificate.validTo}`;
  return null;
}
