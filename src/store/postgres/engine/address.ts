/**
 * The URL of a database in the form that the driver needs: hosts, login, and how TLS is checked. Reads the files that
 * it names.
 */
import { readFileSync } from 'node:fs';
import { type PostgresAddress, readPostgresUrl } from '../../../lib/postgres-url.ts';
import { StoreRefused } from '../../shared/refusal.ts';

/** One host of an address. */
export type PostgresHost = PostgresAddress & { host: string; port: number };

/** Throws StoreRefused. */
export function addressOf(url: string): PostgresAddress {
  const read = readPostgresUrl(url);
  if (!read.ok) throw new StoreRefused('unfit', `The URL of the database is wrong: ${read.fix}.`);
  return read.address;
}

export function clientOptions({ host, port, user, password, database, ...tls }: PostgresHost) {
  return { host, port, user, database, password: password ?? askedForPassword, ssl: tlsOptions(tls) };
}

/** Otherwise the driver would read files and environment variables of other programs. */
function askedForPassword(): string {
  throw new StoreRefused(
    'unfit',
    'The database asks for a password, and none is configured; set database-password or PGPASSWORD.',
  );
}

function tlsOptions({
  tls,
  rootCertificate,
  certificate,
  key,
}: Omit<PostgresAddress, 'hosts' | 'user' | 'password' | 'database'>) {
  if (tls === 'disable') return false;
  return {
    ...(tls === 'require' ? { rejectUnauthorized: false } : {}),
    ...(tls === 'verify-ca' ? { checkServerIdentity: () => undefined } : {}),
    ...(rootCertificate === null ? {} : { ca: pem('sslrootcert', rootCertificate) }),
    ...(certificate === null || key === null
      ? {}
      : { cert: pem('sslcert', certificate), key: pem('sslkey', key) }),
  };
}

function pem(parameter: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new StoreRefused('unfit', `${parameter} ${file} of the database cannot be read (${code}).`, {
      cause,
    });
  }
}
