/**
 * Certificates for tests, made by the `openssl` command when a test asks: one authority, and leaves that are good,
 * expired, for another name, or signed by nobody. Nothing stays on disk.
 * Null when there is no `openssl`: such tests are skipped, and say so.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface KeyPair {
  /** PEM */
  key: string;
  /** PEM */
  cert: string;
}

export interface TestCertificates {
  /** PEM of the authority. */
  ca: string;
  good: KeyPair;
  expired: KeyPair;
  wrongName: KeyPair;
  /** Right name, but no authority behind it. */
  selfSigned: KeyPair;
}

const CA_CONFIG = `[ca]
default_ca = main
[main]
database = index.txt
new_certs_dir = .
serial = serial
default_md = sha256
policy = any
copy_extensions = copy
unique_subject = no
[any]
commonName = supplied
`;

/** Certificates for `name`; takes a fifth of a second. */
export function makeCertificates(name: string): TestCertificates | null {
  const dir = mkdtempSync(join(tmpdir(), 'postrider-certs-'));
  const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: dir, stdio: 'pipe' });
  const read = (file: string) => readFileSync(join(dir, file), 'utf8');
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
  const pair = (file: string): KeyPair => ({ key: read(`${file}.key`), cert: read(`${file}.pem`) });
  const leaf = (file: string, host: string, start: string, end: string): KeyPair => {
    const subject = ['-subj', `/CN=${host}`, '-addext', `subjectAltName=DNS:${host}`];
    openssl('req', '-new', ...newKey, '-keyout', `${file}.key`, '-out', `${file}.csr`, ...subject);
    const dates = ['-startdate', start, '-enddate', end];
    const by = ['-config', 'ca.cnf', '-cert', 'ca.pem', '-keyfile', 'ca.key'];
    openssl('ca', '-batch', '-notext', ...by, ...dates, '-in', `${file}.csr`, '-out', `${file}.pem`);
    return pair(file);
  };
  try {
    writeFileSync(join(dir, 'ca.cnf'), CA_CONFIG);
    writeFileSync(join(dir, 'index.txt'), '');
    writeFileSync(join(dir, 'serial'), '01\n');
    const root = ['-keyout', 'ca.key', '-out', 'ca.pem', '-subj', '/CN=Test authority', '-days', '30'];
    openssl('req', '-x509', ...newKey, ...root);
    const own = ['-keyout', 'self.key', '-out', 'self.pem', '-subj', `/CN=${name}`, '-days', '30'];
    openssl('req', '-x509', ...newKey, ...own, '-addext', `subjectAltName=DNS:${name}`);
    const [from, to] = ['20200101000000Z', '20991231000000Z'];
    return {
      ca: read('ca.pem'),
      good: leaf('good', name, from, to),
      expired: leaf('expired', name, from, '20200201000000Z'),
      wrongName: leaf('wrong', 'another.test', from, to),
      selfSigned: pair('self'),
    };
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
