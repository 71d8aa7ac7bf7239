/** Certificates of listeners, read from files that change, are half written, or are missing. */

import { execFileSync } from 'node:child_process';
import { createPrivateKey } from 'node:crypto';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, TLSSocket } from 'node:tls';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createTestCa, type TestCertificate } from '../../test/fakes/test-certificates.ts';
import { makeSelfSigned } from '../net/self-signed.ts';
import { createSystemRandom } from './random.ts';
import { openCertificates } from './server-certificates.ts';
import { createVirtualClock } from './virtual-clock.ts';

let folder: string;
let files: { kind: 'files'; cert: string; key: string };
const ca = createTestCa();

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'postrider-certs-'));
  files = { kind: 'files', cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') };
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function install(name: string, notAfter?: Date): Promise<void> {
  const made = ca.issue({ names: [name], ...(notAfter === undefined ? {} : { notAfter }) });
  await writeFile(files.key, made.key);
  await writeFile(files.cert, made.cert);
}

async function open(read?: (file: string) => Promise<string>) {
  const clock = createVirtualClock();
  const reports: string[] = [];
  const news: string[] = [];
  const certificates = await openCertificates(
    {
      clock,
      report: (problem) => reports.push(problem),
      renewed: (line) => news.push(line),
      ...(read === undefined ? {} : { read }),
    },
    files,
  );
  return { clock, reports, news, certificates };
}

describe('certificates from files', () => {
  it('are read again when they change, looked at once a second', async () => {
    await install('first.test');
    const { clock, reports, certificates } = await open();
    const first = await certificates.current();
    await install('second-name.test');
    expect(await certificates.current()).toBe(first);
    await clock.advance(1_000);
    const second = await certificates.current();
    expect(second).not.toBe(first);
    await clock.advance(1_000);
    expect(await certificates.current()).toBe(second);
    expect(reports).toEqual([]);
  });

  it('say what is wrong with their files for as long as it is, and when they were read anew', async () => {
    await install('first.test');
    const { reports, news, certificates } = await open();
    expect(await certificates.problem()).toBeNull();
    await rm(files.cert);
    expect(await certificates.problem()).toMatch(/cert\.pem cannot be read: /);
    expect(await certificates.problem()).toBe(reports[0]);
    expect([reports.length, news]).toEqual([1, []]);
    await install('second-name.test');
    expect(await certificates.problem()).toBeNull();
    expect(news).toEqual([`${files.cert} was read; it ends on 2049-12-31`]);
  });

  it('stay in use over a pair that does not fit, reported once', async () => {
    await install('first.test');
    const { clock, reports, certificates } = await open();
    const first = await certificates.current();
    await writeFile(files.key, ca.issue({ names: ['other.test'] }).key);
    for (let i = 0; i < 3; i += 1) {
      await clock.advance(1_000);
      expect(await certificates.current()).toBe(first);
    }
    expect(reports).toHaveLength(1);
    expect(reports[0]).toMatch(
      /key\.pem is not the key of .*cert\.pem; the certificate before, until 2049-12-31, stays in use\. Name/,
    );
    await rm(files.key);
    await certificates.reload();
    expect(await certificates.current()).toBe(first);
    expect(reports).toHaveLength(2);
  });

  it.each<[string, RegExp, (made: TestCertificate) => Promise<void>]>([
    [
      'half a certificate',
      /cert\.pem is not a certificate in PEM form; .* Write the whole file again\./,
      (made) => writeFile(files.cert, made.cert.slice(0, 200)),
    ],
    [
      'a chain that breaks off',
      /cert\.pem cannot be used for TLS \(.+\); /,
      async (made) => {
        await writeFile(files.key, made.key);
        await writeFile(files.cert, made.cert + made.cert.slice(0, 200));
      },
    ],
    [
      'half a key',
      /key\.pem is not a private key in PEM form; /,
      (made) => writeFile(files.key, made.key.slice(0, 100)),
    ],
    ['an empty file', /cert\.pem is not a certificate in PEM form; /, () => writeFile(files.cert, '')],
    [
      'a file that is gone',
      /cert\.pem cannot be read: there is no such file or folder; .* Put the file there/,
      () => rm(files.cert),
    ],
    [
      'a pipe',
      /key\.pem cannot be read: it is not a file but a pipe or a device; /,
      async () => {
        await rm(files.key);
        execFileSync('mkfifo', [files.key]);
      },
    ],
    [
      'a folder',
      /key\.pem cannot be read: it is a folder; /,
      async () => {
        await rm(files.key);
        await mkdir(files.key);
      },
    ],
  ])('stay in use over %s, until the files are good again', async (_, sentence, spoil) => {
    await install('first.test');
    const { clock, reports, certificates } = await open();
    const first = await certificates.current();
    await spoil(ca.issue({ names: ['other.test'] }));
    await clock.advance(1_000);
    expect(await certificates.current()).toBe(first);
    expect(reports).toEqual([expect.stringMatching(sentence)]);
    await rm(files.key, { recursive: true, force: true });
    await install('second.test');
    await clock.advance(1_000);
    expect(await certificates.current()).not.toBe(first);
  });

  it('that have ended do not replace one that has not, but are better than none', async () => {
    await install('first.test');
    const { clock, reports, certificates } = await open();
    const first = await certificates.current();
    await install('first.test', new Date('2021-01-01T00:00:00Z'));
    await clock.advance(1_000);
    expect(await certificates.current()).toBe(first);
    expect(reports).toEqual([
      expect.stringMatching(
        /cert\.pem ended on 2021-01-01; the certificate before, .*stays in use\. Renew it/,
      ),
    ]);
    expect((await open()).reports).toEqual([
      expect.stringMatching(/cert\.pem ended on 2021-01-01: clients refuse it\. Renew it/),
    ]);
  });

  it('are used once they are valid, and not before', async () => {
    await install('first.test');
    const { clock, reports, news, certificates } = await open();
    const first = await certificates.current();
    const { key, cert } = ca.issue({ names: ['next.test'], notBefore: new Date(clock.now() + 60_000) });
    await writeFile(files.key, key);
    await writeFile(files.cert, cert);
    for (let i = 0; i < 3; i += 1) {
      await clock.advance(1_000);
      expect(await certificates.current()).toBe(first);
    }
    expect(reports).toEqual([
      expect.stringMatching(
        /cert\.pem is valid only from .*Z; the certificate before, .*stays in use\. Look/,
      ),
    ]);
    const early = await open();
    expect(early.reports).toEqual([
      expect.stringMatching(/cert\.pem is valid only from .*: clients refuse it\./),
    ]);
    for (const each of [clock, early.clock]) await each.advance(60_000);
    expect(await certificates.current()).not.toBe(first);
    expect(await early.certificates.problem()).toBeNull();
    expect([news.length, early.news.length, reports.length, early.reports.length]).toEqual([1, 1, 1, 1]);
  });

  it('hold up no handshake where their file system does not answer', async () => {
    await install('first.test');
    let isAway = false;
    const { clock, certificates } = await open((file) =>
      isAway ? new Promise(() => {}) : readFile(file, 'utf8'),
    );
    const first = await certificates.current();
    isAway = true;
    await install('other.test');
    await clock.advance(1_000);
    const slow = certificates.current();
    expect(await certificates.current()).toBe(first);
    await clock.advance(1_000);
    expect(await slow).toBe(first);
    const problem = certificates.problem();
    await clock.advance(1_000);
    expect(await problem).toMatch(/cert\.pem cannot be read: its file system does not answer/);
  });

  it('say that a key needs a passphrase', async () => {
    await install('first.test');
    const key = createPrivateKey(await readFile(files.key));
    const cipher = { cipher: 'aes-256-cbc', passphrase: 'secret' } as const;
    await writeFile(files.key, key.export({ type: 'pkcs8', format: 'pem', ...cipher }));
    await expect(open()).rejects.toThrow(/key\.pem needs a passphrase\. Write it without: openssl/);
  });

  it.skipIf(process.getuid?.() === 0)('are read once they may be read', async () => {
    await install('first.test');
    const { clock, reports, certificates } = await open();
    await install('second.test');
    await chmod(files.key, 0);
    await certificates.reload();
    expect(reports).toEqual([expect.stringMatching(/permission denied; .* Let the account/)]);
    const before = await certificates.current();
    await chmod(files.key, 0o600);
    await clock.advance(1_000);
    expect(await certificates.current()).not.toBe(before);
  });

  it('are refused at the start by name where they cannot be used', async () => {
    await expect(open()).rejects.toThrow(
      /cert\.pem cannot be read: there is no such file or folder\. Put the file there/,
    );
  });
});

it('a self-signed pair makes a context', async () => {
  const clock = createVirtualClock();
  const pair = makeSelfSigned({ clock, random: createSystemRandom() }, ['mail.example.com']);
  const certificates = await openCertificates(
    { clock, report: () => undefined, renewed: () => undefined },
    { kind: 'pair', pair },
  );
  expect(await certificates.current()).toBe(await certificates.current());
  await certificates.reload();
});

it('no client gets a second handshake on its connection', async () => {
  const certificates = await openCertificates(
    { clock: createVirtualClock(), report: () => undefined, renewed: () => undefined },
    { kind: 'pair', pair: ca.issue({ names: ['mail.test'] }) },
  );
  const secureContext = await certificates.current();
  const server = createServer((socket) => {
    new TLSSocket(socket, { isServer: true, secureContext }).on('error', () => socket.destroy()).resume();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const client = connect({
    port,
    host: '127.0.0.1',
    ca: ca.cert,
    servername: 'mail.test',
    maxVersion: 'TLSv1.2',
  });
  await once(client, 'secureConnect');
  const again = await new Promise<Error | null>((resolve) => {
    client.once('error', resolve);
    client.renegotiate({}, resolve);
  });
  expect(again?.message).toMatch(/no renegotiation/);
  client.destroy();
  server.close();
});
