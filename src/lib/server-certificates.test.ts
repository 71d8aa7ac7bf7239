/** Certificates of the SMTP listeners: from files that change, that are half written, that are not there. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createTestCa } from '../../test/fakes/test-certificates.ts';
import { createVirtualClock } from '../../test/fakes/virtual-clock.ts';
import { makeSelfSigned } from '../net/self-signed.ts';
import { createSystemRandom } from './random.ts';
import { openCertificates } from './server-certificates.ts';

let folder: string;
let files: { kind: 'files'; cert: string; key: string };
const ca = createTestCa();

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'postrider-certs-'));
  files = { kind: 'files', cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') };
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function install(name: string): Promise<void> {
  const made = ca.issue({ names: [name] });
  await writeFile(files.key, made.key);
  await writeFile(files.cert, made.cert);
}

async function open() {
  const clock = createVirtualClock();
  const reports: string[] = [];
  const certificates = await openCertificates({ clock, report: (message) => reports.push(message) }, files);
  return { clock, reports, certificates };
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
    await rm(files.key);
    await certificates.reload();
    expect(await certificates.current()).toBe(first);
    expect(reports).toHaveLength(2);
  });

  it('are refused at the start by name where they cannot be used', async () => {
    await expect(open()).rejects.toThrow(/cert\.pem with the key .*key\.pem cannot be used: ENOENT/);
  });
});

it('a self-signed pair makes a context', async () => {
  const clock = createVirtualClock();
  const pair = makeSelfSigned({ clock, random: createSystemRandom() }, ['mail.example.com']);
  const certificates = await openCertificates({ clock, report: () => undefined }, { kind: 'pair', pair });
  expect(await certificates.current()).toBe(await certificates.current());
  await certificates.reload();
});
