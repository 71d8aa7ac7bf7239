/**
 * Finds the certificate of this host where certbot and Caddy store theirs, and checks whether it can be used. Only
 * reads files.
 */
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { readCertificate } from '../../lib/certificate-files.ts';
import { systemClock } from '../../lib/clock.ts';

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

/** Why these files cannot be used for `host`, in a clause; null if they can. */
export async function certificateProblem(cert: string, key: string, host: string): Promise<string | null> {
  const found = await readCertificate({ cert, key });
  if (found.kind === 'wrong') return found.why;
  if (found.certificate.checkHost(host) === undefined) return `${cert} is not for ${host}`;
  if (found.endsAt < systemClock.now()) return `${cert} ended on ${found.certificate.validTo}`;
  if (found.beginsAt > systemClock.now()) return `${cert} is valid only from ${found.certificate.validFrom}`;
  return null;
}
