/** `postrider setup`: from an empty folder to the first delivered mail, wrong answers, stops, and going on afterwards. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmod,
  chown,
  link,
  lstat,
  mkdir,
  readdir,
  readFile,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { createServer } from 'node:net';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { portState } from '../../src/cli/setup/port-state.ts';
import { createFakeDns, type FakeDns } from '../fakes/fake-dns.ts';
import { startSmtpSink } from '../fakes/smtp-sink.ts';
import { createTestCa } from '../fakes/test-certificates.ts';
import { addDomain, fileScope, startInstance, temporaryFolder } from './harness.ts';
import { KEYS, runAtTerminal } from './scripted-terminal.ts';

const scope = fileScope();

interface Report {
  Written: string[];
  Checks: { Name: string; Status: string; Found: string[] }[];
  Domain: { Status: string; DnsRecords: { Type: string; Host: string; Value: string }[] };
  Token: string | null;
  Person: { Email: string; Password: string } | null;
  TestMail: { Status: string; Reply: string } | null;
  Next: string[];
}

/** A folder that is not there yet, a relay with a login, and a DNS without the domain's records. */
async function fresh() {
  const folder = join(await temporaryFolder(scope), 'data');
  const dns = await createFakeDns({ 'example.com': { A: ['192.0.2.1'] } });
  const relay = await startSmtpSink({ auth: { user: 'me@x', pass: 'p:w' } });
  scope.defer(() => relay.close());
  scope.defer(() => dns.close());
  const fixed = ['--data', folder, '--dns', dns.text, '--no-unit', '--http', '127.0.0.1:0'];
  return { folder, dns, relay, fixed, route: `smtp://me%40x:p%3Aw@127.0.0.1:${relay.port}` };
}

/** As `runAtTerminal`, but asks nobody and prints JSON. */
async function withoutQuestions(args: readonly string[]) {
  const terminal = runAtTerminal(['setup', '--yes', '--json', ...args]);
  const code = await terminal.ended;
  return {
    code,
    said: terminal.screen(),
    out: terminal.stdout(),
    report: () => JSON.parse(terminal.stdout()) as Report,
  };
}

/** `args` without the options that `others` give too. */
function unless(args: readonly string[], others: readonly string[]): readonly string[] {
  const isGiven = (word: string | undefined) => word?.startsWith('--') === true && others.includes(word);
  return args.filter((word, i) => !isGiven(word) && !isGiven(args[i - 1]));
}

function publish(dns: FakeDns, { Domain }: Report): void {
  for (const { Type, Host, Value } of Domain.DnsRecords) if (Type === 'TXT') dns.set(Host, { TXT: [Value] });
}

async function modeOf(path: string): Promise<number> {
  return (await stat(path)).mode & 0o777;
}

describe('setup --yes', () => {
  it('makes the folder, the settings, the domain and a token, and the next run sends the first mail', async () => {
    const { folder, dns, relay, fixed, route } = await fresh();
    const args = ['example.com', ...fixed, '--route', route, '--hostname', 'mail.example.com'];
    const first = await withoutQuestions(args);
    expect(first.code, first.said).toBe(0);
    expect(first.report()).toMatchObject({ Domain: { Status: 'Pending' }, TestMail: null });
    expect(first.report().Token).toMatch(/^ey/);
    expect(first.report().Next.join('\n')).toContain(
      'go on with: postrider setup example.com --no-unit --data',
    );
    expect([await modeOf(folder), await modeOf(join(folder, 'postrider.json'))]).toEqual([0o700, 0o600]);
    expect(first.said).not.toContain('p%3Aw');
    expect(JSON.parse(await readFile(join(folder, 'postrider.json'), 'utf8'))).toEqual({
      route,
      hostname: 'mail.example.com',
      http: '127.0.0.1:0',
      dns: dns.text,
    });

    publish(dns, first.report());
    const zone = join(folder, '..', 'zone');
    const more = ['--test-to', 'me@example.net', '--zone-file', zone, '--person', 'me@example.net'];
    const second = await withoutQuestions(['example.com', '--data', folder, '--no-unit', ...more]);
    expect(second.code, second.said).toBe(0);
    expect(second.report()).toMatchObject({
      Written: [zone],
      Domain: { Status: 'Verified' },
      Token: null,
      Person: { Email: 'me@example.net', Password: expect.stringMatching(/^\S{20}$/) },
      TestMail: { Status: 'Delivered', Reply: expect.stringMatching(/^250 /) },
    });
    expect(second.said).toContain('nothing to write');
    expect(second.said).toMatch(/align:.*aligns/);
    expect(relay.messages).toHaveLength(1);
    expect(relay.messages[0]?.data.toString()).toContain('DKIM-Signature:');
    const records = await readFile(zone, 'utf8');
    expect(records).toContain('example.com. 3600 IN TXT');
    const repeat = ['example.com', '--data', folder, '--no-unit', '--no-token', '--zone-file', zone];
    expect((await withoutQuestions(repeat)).code).toBe(0);
    await writeFile(zone, `${records}other.example. 3600 IN A 192.0.2.1\n`);
    const third = await withoutQuestions(repeat);
    expect([third.code, third.said]).toEqual([1, expect.stringContaining(`${zone} exists already`)]);
    expect(await readFile(zone, 'utf8')).toContain('other.example.');
  });

  it('finds out whether port 25 is open by a mail server of the domain, which it tells nothing', async () => {
    const { folder, dns, relay, fixed } = await fresh();
    await mkdir(folder, { mode: 0o700 });
    const keys = { 'mx-port': relay.port, 'allow-networks': '127.0.0.0/8' };
    await writeFile(join(folder, 'postrider.json'), JSON.stringify(keys));
    dns.set('example.com', { MX: ['mx.example.net'] });
    dns.set('mx.example.net', { A: ['127.0.0.1'] });
    const direct = ['--route', 'mx', '--hostname', 'mail.example.com', '--no-token'];
    const result = await withoutQuestions(['example.com', ...fixed, ...direct]);
    expect(result.code, result.said).toBe(0);
    const check = result.report().Checks.find(({ Name }) => Name === 'port25');
    expect(check).toMatchObject({ Status: 'Ok', Found: [`127.0.0.1:${relay.port} answers`] });
    expect(relay.counts).toMatchObject({ connections: 1, messages: 0 });
  });

  it('without a domain asks nothing, and says how to go on', async () => {
    const { folder, fixed } = await fresh();
    const result = await withoutQuestions([...fixed, '--route', 'sandbox', '--hostname', 'mail.example.com']);
    expect(result.code, result.said).toBe(0);
    expect(result.report().Next.join('\n')).toContain('Add a sender domain');
    expect(await readdir(folder)).toEqual(['postrider.json']);
  });

  it('works beside a running server: its ports are its own, and a new configuration needs a new start', async () => {
    const folder = await temporaryFolder(scope);
    const server = await startInstance(scope, { folder });
    await addDomain(server, 'example.com');
    const { host } = new URL(server.server.localUrl);
    const given = ['--data', folder, '--no-unit', '--route', 'sandbox', '--hostname', 'mail.example.com'];
    const args = ['example.com', ...given, '--http', host, '--test-to', 'me@example.net'];
    const first = await withoutQuestions(args);
    expect([first.code, first.said]).toEqual([1, expect.stringContaining('has its old configuration')]);
    expect(first.report()).toMatchObject({ Token: null, TestMail: null });
    expect(first.report().Next[0]).toMatch(/^Stop the server and start it again/);
    const second = await withoutQuestions(args);
    expect(second.code, second.said).toBe(0);
    expect(second.report()).toMatchObject({ Written: [], TestMail: { To: 'me@example.net' } });
    expect(second.report().Next[0]).toMatch(/^The server runs already/);
  });

  it('finds the listener with TLS from the start again', async () => {
    const { folder, fixed } = await fresh();
    const usual = [...fixed, '--route', 'sandbox', '--hostname', 'mail.example.com'];
    const first = await withoutQuestions([...usual, '--submission-tls', '127.0.0.1:0']);
    expect(first.code, first.said).toBe(0);
    const second = await withoutQuestions(['--data', folder, '--no-unit']);
    expect([second.code, second.said]).toEqual([0, expect.stringContaining('nothing to write')]);
    const file = await readFile(join(folder, 'postrider.json'), 'utf8');
    expect(JSON.parse(file)).toMatchObject({ 'submission-tls': '127.0.0.1:0' });
  });

  it.each(['SIGINT', 'SIGTERM', 'SIGHUP'])(
    'stopped by %s, gives the folder to the account',
    async (signal) => {
      const { folder, fixed } = await fresh();
      const file = join(folder, '..', 'postrider.service');
      // Only root gives files away.
      const isRoot = process.getuid?.() === 0;
      const others = await temporaryFolder(scope);
      await writeFile(join(others, 'file'), '');
      await mkdir(folder, { mode: 0o700 });
      await mkdir(join(folder, 'spool'));
      await writeFile(join(folder, 'postrider.json'), '{}');
      await symlink(others, join(folder, 'spool', 'link'));
      const user = isRoot ? 'nobody' : userInfo().username;
      const usual = [
        ...fixed.filter((word) => word !== '--no-unit'),
        '--unit',
        file,
        '--user',
        user,
        '--wait',
      ];
      const terminal = runAtTerminal(['setup', '--yes', 'example.com', '--route', 'sandbox', ...usual]);
      await terminal.sees('Waiting for: ');
      process.emit(signal as NodeJS.Signals);
      expect(await terminal.ended, terminal.screen()).toBe(1);
      expect(terminal.screen()).toContain('stopped: ');
      expect(await readFile(file, 'utf8')).toContain(`User=${user}\n`);
      if (!isRoot) return;
      expect(terminal.screen()).toContain(`Give ${folder} and everything in it to the account nobody.`);
      const { uid } = await stat(folder);
      expect(uid).not.toBe(0);
      for (const name of await readdir(folder))
        expect([name, (await stat(join(folder, name))).uid]).toEqual([name, uid]);
      expect((await lstat(join(folder, 'spool', 'link'))).uid).toBe(uid);
      expect([(await stat(others)).uid, (await stat(join(others, 'file'))).uid]).toEqual([0, 0]);
    },
  );

  it.skipIf(process.getuid?.() !== 0)(
    'gives the folder to the account before it waits for anybody',
    async () => {
      const { folder, fixed } = await fresh();
      await mkdir(folder, { mode: 0o700 });
      await chown(folder, 65_534, 65_534);
      const terminal = runAtTerminal([
        'setup',
        '--yes',
        'example.com',
        '--route',
        'sandbox',
        ...fixed,
        '--wait',
      ]);
      await terminal.sees('Waiting for: ');
      const names = await readdir(folder);
      const owners = await Promise.all(
        names.map(async (name) => [name, (await stat(join(folder, name))).uid]),
      );
      process.emit('SIGTERM');
      await terminal.ended;
      expect(owners).toEqual(names.map((name) => [name, 65_534]));
      expect(names).toContain('postrider.db-wal');
    },
  );

  it.skipIf(process.getuid?.() !== 0)(
    'gives away no file that has a name outside of the folder',
    async () => {
      const { folder, fixed } = await fresh();
      const outside = join(folder, '..', 'outside');
      await writeFile(outside, 'secret');
      await mkdir(join(folder, 'spool'), { recursive: true, mode: 0o700 });
      await writeFile(join(folder, 'postrider.json'), '{}');
      await link(outside, join(folder, 'spool', 'mail'));
      await chown(folder, 65_534, 65_534);
      const result = await withoutQuestions([
        ...fixed,
        '--route',
        'sandbox',
        '--hostname',
        'mail.example.com',
      ]);
      expect(result.code, result.said).toBe(1);
      expect(result.said).toContain(
        `cannot be given to the account of the server: ${join(folder, 'spool', 'mail')} has another name`,
      );
      expect((await stat(outside)).uid).toBe(0);
    },
  );

  it('keeps every key that it does not ask for', async () => {
    const { folder, fixed } = await fresh();
    await mkdir(folder);
    const before = { 'max-recipients': 10, retry: ['1s', '2s'], routes: [{ tag: 'a', route: 'sandbox' }] };
    await writeFile(
      join(folder, 'postrider.json'),
      JSON.stringify({ ...before, hostname: 'old.example.com' }),
    );
    const result = await withoutQuestions([...fixed, '--route', 'sandbox', '--hostname', 'new.example.com']);
    expect(result.code, result.said).toBe(0);
    expect(result.said).toMatch(/- +"hostname": "old\.example\.com",\n\+ +"hostname": "new\.example\.com"/);
    const after = JSON.parse(await readFile(join(folder, 'postrider.json'), 'utf8'));
    expect(after).toMatchObject({ ...before, hostname: 'new.example.com', route: 'sandbox' });
  });
});

describe('what cannot be done is one sentence, and nothing is written', () => {
  it.each([
    [
      'a relay that is not there',
      ['--route', 'smtp://127.0.0.1:9'],
      /cannot be reached.*Check its host and port/,
    ],
    [
      'a relay without a name',
      ['--route', 'smtp://relay.nowhere.test:587'],
      /leads to no address.*Correct its host name/,
    ],
    ['a route that is none', ['--route', 'pigeon'], /--route .*pigeon.*: use sandbox/],
    ['a host name that is none', ['--hostname', 'mail_'], /--hostname .*mail_.*: use a host or domain name/],
    ['a port that is none', ['--http', '127.0.0.1:99999'], /--http .*use host:port/],
    [
      'a certificate that is not there',
      ['--tls-cert', '/no/cert', '--tls-key', '/no/key'],
      /\/no\/cert cannot be read/,
    ],
    [
      'a certificate of the API that is not there',
      ['--http-certificate', '/no/cert', '--http-certificate-key', '/no/key'],
      /\/no\/cert cannot be read/,
    ],
    ['a user without a password', ['--route', 'smtp://me@127.0.0.1:9'], /--relay-password-file is needed/],
  ])('%s', async (_what, args, sentence) => {
    const { folder, fixed } = await fresh();
    const usual = [...fixed, '--route', 'sandbox', '--hostname', 'mail.example.com'];
    const result = await withoutQuestions(['example.com', ...unless(usual, args), ...args]);
    expect([result.code === 0, result.said]).toEqual([false, expect.stringMatching(sentence)]);
    await expect(stat(folder)).rejects.toThrow('ENOENT');
  });

  it('a wrong password, a wrong domain, a port in use', async () => {
    const { folder, fixed, relay } = await fresh();
    const wrong = await withoutQuestions([
      'example.com',
      ...fixed,
      '--hostname',
      'mail.example.com',
      '--route',
      `smtp://me%40x:secret-typo@127.0.0.1:${relay.port}`,
    ]);
    expect([wrong.code, wrong.said]).toEqual([
      1,
      expect.stringMatching(/refuses the login.*Correct its user name and password/),
    ]);
    expect(wrong.said + wrong.out).not.toContain('secret-typo');
    const domain = await withoutQuestions(['exa mple', ...fixed, '--route', 'sandbox']);
    expect([domain.code, domain.said]).toEqual([
      2,
      expect.stringContaining('Use a domain such as example.com'),
    ]);
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { port: number };
    const busy = ['--http', `127.0.0.1:${port}`, '--route', 'sandbox', '--hostname', 'mail.example.com'];
    const taken = await withoutQuestions(['example.com', ...unless(fixed, busy), ...busy]);
    // Another program at another address, with the same port: only the one in the way is named.
    const beside = `require('net').createServer().listen(${port}, '127.0.0.2', () => console.log('listens'))`;
    const child = spawn(process.execPath, ['-e', beside], { stdio: ['pipe', 'pipe', 'inherit'] });
    await once(child.stdout, 'data');
    const holders = await Promise.all(['127.0.0.1', '127.0.0.2'].map((host) => portState({ host, port })));
    child.kill();
    server.close();
    expect(taken.code).toBe(1);
    if (process.platform === 'linux') {
      expect(taken.said).toContain(`(process ${process.pid})`);
      expect(holders).toMatchObject([
        { kind: 'taken', holder: { pid: process.pid } },
        { kind: 'taken', holder: { pid: child.pid } },
      ]);
      // Every program that Node runs has the short name `node` or `MainThread`.
      expect(taken.said).toMatch(/in use by node \S*vitest/);
    }
    expect(taken.said).toContain('choose another with --http');
    await expect(stat(folder)).rejects.toThrow('ENOENT');
  });

  it('an address that is none', async () => {
    const { folder, fixed } = await fresh();
    for (const flag of ['--person', '--test-to']) {
      const wrong = await withoutQuestions(['example.com', ...fixed, '--route', 'sandbox', flag, 'ada']);
      expect([wrong.code, wrong.said]).toEqual([
        2,
        expect.stringContaining(`${flag} \\"ada\\": use an address`),
      ]);
    }
    await expect(stat(folder)).rejects.toThrow('ENOENT');
  });

  it('a folder with files of others, or with the program in it', async () => {
    const { folder, fixed } = await fresh();
    await mkdir(folder, { mode: 0o755 });
    await writeFile(join(folder, 'letters.txt'), '');
    const others = await withoutQuestions(['example.com', ...fixed, '--route', 'sandbox']);
    expect([others.code, others.said]).toEqual([
      2,
      expect.stringMatching(/holds other files and no data of postrider; choose an empty or a new folder/),
    ]);
    expect([await modeOf(folder), await readdir(folder)]).toEqual([0o755, ['letters.txt']]);
    for (const above of [process.cwd(), join(process.cwd(), 'bin'), '/']) {
      const program = await withoutQuestions(['example.com', ...unless(fixed, ['--data']), '--data', above]);
      expect(program.code).toBe(2);
      if (process.getuid?.() === 0) expect(program.said).toContain('holds the program itself');
    }
  });

  it('a unit that somebody else wrote', async () => {
    const { folder, fixed } = await fresh();
    const file = join(folder, '..', 'postrider.service');
    const unit = '[Service]\nEnvironment=POSTRIDER_ROUTE=smtp://relay.example.net\n';
    await writeFile(file, unit);
    const usual = [...fixed.filter((word) => word !== '--no-unit'), '--unit', file];
    const args = [...usual, '--route', 'sandbox', '--hostname', 'mail.example.com'];
    const result = await withoutQuestions(['example.com', ...args]);
    expect([result.code, result.said]).toEqual([2, expect.stringMatching(/not written by setup: move its/)]);
    expect(await readFile(file, 'utf8')).toBe(unit);
    await expect(stat(folder)).rejects.toThrow('ENOENT');
  });

  it('a file that is half written, and a folder without rights', async () => {
    const { folder, fixed } = await fresh();
    await mkdir(folder);
    await writeFile(join(folder, 'postrider.json'), '{"route": "mx",');
    const half = await withoutQuestions(['example.com', ...fixed]);
    expect([half.code, half.said]).toEqual([
      2,
      expect.stringMatching(/postrider\.json: is not JSON: it ends too early/),
    ]);
    expect(await readFile(join(folder, 'postrider.json'), 'utf8')).toBe('{"route": "mx",');
    const below = await withoutQuestions(['example.com', '--data', join(folder, 'postrider.json', 'below')]);
    expect([below.code, below.said]).toEqual([2, expect.stringContaining('is not a folder')]);
    await chmod(folder, 0o500);
    // Root may write anywhere.
    if (process.getuid?.() !== 0) {
      const closed = await withoutQuestions(['example.com', '--data', folder]);
      expect([closed.code, closed.said]).toEqual([
        2,
        expect.stringMatching(/may not write to it; run setup as its owner/),
      ]);
    }
    await chmod(folder, 0o700);
  });
});

/** The questions of a run with a relay, in their order, and an answer to each. */
function answers(port: number): readonly (readonly [string, string])[] {
  const { enter } = KEYS;
  return [
    ['How does mail leave', enter],
    ['Host name of the relay', `127.0.0.1${enter}`],
    ['Port of the relay', `${port}${enter}`],
    ['User name at the relay', `me@x${enter}`],
    ['Password at the relay', `p:w${enter}`],
    ['Full host name', enter],
    ['at 0.0.0.0:587?', enter],
    ['at 0.0.0.0:25?', enter],
    ['Write this?', enter],
    ['Wait here until they are seen?', `n`],
    ['Make a token', enter],
    ['to sign in to the dashboard', enter],
  ];
}

/** The same in a folder that was written before: the relay is known, and nothing remains to be written. */
function onceWritten(script: readonly (readonly [string, string])[]) {
  return script.filter(([question]) => !/relay|Write this/.test(question));
}

describe('setup at a terminal', () => {
  it('takes an answer to each question, and a second one where the first was wrong', async () => {
    const { folder, relay, fixed, dns } = await fresh();
    const { enter, clear } = KEYS;
    const first = runAtTerminal(['setup', ...fixed]);
    await first.answer('How does mail leave', enter);
    await first.answer('Host name of the relay', `no host${enter}`);
    await first.answer('Use a host name such as', `${clear}127.0.0.1${enter}`);
    await first.answer('Port of the relay', `70000${enter}`);
    await first.answer('Use a number from 1', `${clear}${relay.port}${enter}`);
    await first.answer('User name at the relay', `me@x${enter}`);
    await first.answer('Password at the relay', `wrong${enter}`);
    await first.sees('refuses the login');
    await first.answer('What now?', enter);
    await first.answer('Host name of the relay', `${clear}127.0.0.1:${relay.port}${enter}`);
    await first.answer('Port of the relay', enter);
    await first.answer('User name at the relay', enter);
    await first.answer('Password at the relay', `p:w${enter}`);
    await first.sees('takes the login');
    await first.answer('Domain of the addresses', `nonsense${enter}`);
    await first.answer('Use a domain such as', `${clear}example.com${enter}`);
    await first.answer('Full host name', `short${enter}`);
    await first.answer('Use a full host name', `${clear}${enter}`);
    await first.answer('at 0.0.0.0:587?', enter);
    await first.answer('at 0.0.0.0:25?', enter);
    await first.sees('"hostname": ');
    await first.answer('Write this?', enter);
    await first.answer('Wait here until they are seen?', 'n');
    await first.answer('Make a token', 'n');
    await first.answer('to sign in to the dashboard', `me@example.net${enter}`);
    await first.sees('signs in to the dashboard with this password');
    expect(await first.ended, first.screen()).toBe(0);
    expect(first.screen()).not.toContain('p:w');
    expect(JSON.parse(await readFile(join(folder, 'postrider.json'), 'utf8'))).toMatchObject({
      route: `smtp://me%40x:p%3Aw@127.0.0.1:${relay.port}`,
    });

    const records = /Type {3}TXT\s+Host {3}(\S+)\s+Value {2}(.+)/g;
    for (const [, host = '', value = ''] of first.screen().matchAll(records)) dns.set(host, { TXT: [value] });
    const second = runAtTerminal(['setup', '--data', folder, '--no-unit']);
    await second.answer('As now: smtp://(secret)@', enter);
    await second.answer('Domain of the addresses', enter);
    await second.answer('Full host name', enter);
    await second.answer('at 0.0.0.0:587?', enter);
    await second.answer('at 0.0.0.0:25?', enter);
    await second.sees('nothing to write');
    await second.answer('Make a token', enter);
    await second.answer('Your own address', `nobody${enter}`);
    await second.answer('Use an address', `${clear}me@example.net${enter}`);
    expect(await second.ended, second.screen()).toBe(0);
    expect(relay.messages).toHaveLength(1);
  });

  it('after a relay that fails, tries it again as it is, and lets mail leave in another way', async () => {
    const { folder, relay, fixed } = await fresh();
    const { enter, down, ctrlC } = KEYS;
    const route = `smtp://me%40x:wrong@127.0.0.1:${relay.port}`;
    const terminal = runAtTerminal(['setup', 'example.com', ...fixed, '--route', route]);
    await terminal.sees('refuses the login');
    await terminal.answer('What now?', `${down}${enter}`);
    await terminal.sees('refuses the login');
    await terminal.answer('What now?', `${down}${down}${down}${enter}`);
    await terminal.answer('How does mail leave', `${down}${down}${enter}`);
    await terminal.answer('Full host name', enter);
    await terminal.answer('at 0.0.0.0:587?', enter);
    await terminal.sees('"route": "sandbox"');
    await terminal.answer('Write this?', ctrlC);
    expect(await terminal.ended).toBe(1);
    await expect(stat(folder)).rejects.toThrow('ENOENT');
  });

  it('asks for the data folder where none is named', async () => {
    const { folder } = await fresh();
    const { enter, clear, ctrlC } = KEYS;
    const terminal = runAtTerminal(['setup', '--no-unit']);
    await terminal.answer('Folder for the database', `${clear}/dev/null/data${enter}`);
    await terminal.sees('/dev/null is not a folder. Another one, please.');
    await terminal.answer('Folder for the database', `${clear}${folder}${enter}`);
    await terminal.answer('How does mail leave', ctrlC);
    expect(await terminal.ended).toBe(1);
    expect(terminal.screen()).toContain(`To go on: postrider setup --no-unit --data ${folder}`);
    await expect(stat(folder)).rejects.toThrow('ENOENT');
  });

  it('draws its questions on a terminal without a size, such as a serial console', async () => {
    const terminal = runAtTerminal(['setup'], {}, { columns: 0, rows: 0 });
    await terminal.answer('Folder for the database, keys and settings', KEYS.ctrlC);
    expect(await terminal.ended).toBe(1);
  });

  it('repeats a route in the command to go on with, but no password', async () => {
    for (const [route, repeated] of [
      ['smtp://me@relay.example.net:587', ' --route smtp://me@relay.example.net:587'],
      ['smtp://me:secret@relay.example.net:587', ''],
    ] as const) {
      const terminal = runAtTerminal(['setup', '--route', route, '--no-token']);
      await terminal.answer('Folder for the database', KEYS.ctrlC);
      expect(await terminal.ended).toBe(1);
      expect(terminal.screen()).toMatch(/To go on: postrider setup --no-token/);
      expect(terminal.screen()).toContain(`postrider setup --no-token${repeated}`);
      expect(terminal.screen()).not.toContain('secret');
    }
  });

  it('replaces a unit that somebody else wrote only where that is wanted, and its own without a question', async () => {
    const { folder, fixed } = await fresh();
    const { enter } = KEYS;
    const file = join(folder, '..', 'postrider.service');
    const unit = '[Service]\nEnvironment=POSTRIDER_ROUTE=smtp://relay.example.net\n';
    await writeFile(file, unit);
    const usual = [...fixed.filter((word) => word !== '--no-unit'), '--unit', file, '--submission', 'off'];
    const args = ['setup', ...usual, '--route', 'sandbox', '--hostname', 'mail.example.com'];
    const run = async (answer: string) => {
      const terminal = runAtTerminal(args);
      await terminal.answer('Domain of the addresses', `-${enter}`);
      await terminal.sees('- Environment=POSTRIDER_ROUTE=');
      await terminal.answer('Replace it', answer);
      await terminal.answer('Write this?', enter);
      await terminal.answer('to sign in to the dashboard', enter);
      expect(await terminal.ended, terminal.screen()).toBe(0);
    };
    await run(enter);
    expect(await readFile(file, 'utf8')).toBe(unit);
    await run('y');
    expect(await readFile(file, 'utf8')).toMatch(/^# Written by postrider setup\./);
    await writeFile(file, '# Written by postrider setup. As an older version did.\n');
    const again = await withoutQuestions(args.slice(1));
    expect([again.code, again.said]).toEqual([
      0,
      expect.stringContaining('- # Written by postrider setup. As'),
    ]);
    expect(await readFile(file, 'utf8')).toContain('ExecStart=');
  });

  it('can be stopped at each question, and goes on with what is known', async () => {
    const { folder, dns, relay, fixed } = await fresh();
    const script = answers(relay.port);
    const written = script.findIndex(([question]) => question === 'Write this?');
    for (let stopAt = 0; stopAt < script.length; stopAt++) {
      const terminal = runAtTerminal(['setup', 'example.com', ...fixed]);
      const before = stopAt <= written + 1;
      const answered = before ? script.slice(0, stopAt) : onceWritten(script.slice(0, stopAt));
      for (const [question, typed] of answered) await terminal.answer(question, typed);
      await terminal.answer(script[stopAt]?.[0] ?? '', KEYS.ctrlC);
      expect(await terminal.ended, terminal.screen()).toBe(1);
      const same = `--no-unit --http 127.0.0.1:0 --dns ${dns.text} --data ${folder}`;
      expect(terminal.screen()).toMatch(/stopped: .*To go on: postrider setup example\.com --no-unit/);
      expect(terminal.screen()).toContain(`To go on: postrider setup example.com ${same}`);
      if (stopAt <= written) await expect(stat(folder)).rejects.toThrow('ENOENT');
      else expect(JSON.parse(await readFile(join(folder, 'postrider.json'), 'utf8'))).toHaveProperty('route');
    }
  });

  it('shows what direct delivery lacks, and asks who reads mail to postmaster where bounces come in', async () => {
    const { folder, dns, fixed } = await fresh();
    const { enter } = KEYS;
    // Otherwise the addresses of the machine that runs this test are looked at.
    await mkdir(folder, { mode: 0o700 });
    const sources = [{ id: 'one', address: '9.9.9.9' }];
    await writeFile(join(folder, 'postrider.json'), JSON.stringify({ sources }));
    dns.set('mail.example.com', { A: ['9.9.9.9'] });
    dns.set('9.9.9.9.in-addr.arpa', { PTR: ['host9.example.org'] });
    dns.set('host9.example.org', { A: ['9.9.9.9'] });
    // Bounces come in at a port that a test can have.
    const listen = ['--returns', '127.0.0.1:0', '--submission', 'off'];
    const terminal = runAtTerminal(['setup', 'example.com', ...fixed, ...listen, '--no-token']);
    await terminal.answer('How does mail leave', `${KEYS.down}${enter}`);
    await terminal.answer('Full host name', `mail.example.com${enter}`);
    await terminal.sees('It is not known whether outgoing port 25 is open');
    await terminal.answer('is called host9.example.org in DNS. Use that as the host name?', 'y');
    await terminal.sees('9.9.9.9 is called host9.example.org, and that name leads back to it');
    await terminal.answer('for mail to postmaster and abuse', `me@example.net${enter}`);
    await terminal.sees('self-signed');
    await terminal.answer('Write this?', enter);
    await terminal.answer('Wait here until they are seen?', 'y');
    await terminal.sees('Waiting for: ');
    process.emit('SIGINT');
    expect(await terminal.ended, terminal.screen()).toBe(1);
    expect(terminal.screen()).toMatch(
      /stopped: .*postrider\.json stays as written\. To go on: postrider setup/,
    );
    expect(JSON.parse(await readFile(join(folder, 'postrider.json'), 'utf8'))).toMatchObject({
      sources,
      route: 'mx',
      hostname: 'host9.example.org',
      returns: '127.0.0.1:0',
      'operator-address': 'me@example.net',
    });
  });

  it('opens the API by HTTPS where there is a certificate, and warns where there is none', async () => {
    const { folder, fixed } = await fresh();
    const made = createTestCa().issue({ names: ['mail.example.com'] });
    const [cert, key] = [join(folder, '..', 'cert.pem'), join(folder, '..', 'key.pem')];
    await writeFile(cert, made.cert);
    await writeFile(key, made.key);
    const usual = ['--route', 'sandbox', '--hostname', 'mail.example.com', '--submission', 'off'];
    const certificate = ['--http-certificate', cert, '--http-certificate-key', key];
    const asked = unless(fixed, ['--http']);
    const terminal = runAtTerminal(['setup', ...asked, ...usual, ...certificate]);
    await terminal.answer('Domain of the addresses', `-${KEYS.enter}`);
    await terminal.answer('Let other machines use the API and the dashboard by HTTPS', 'y');
    await terminal.answer('Write this?', KEYS.enter);
    await terminal.answer('sign in to the dashboard', `-${KEYS.enter}`);
    expect(await terminal.ended, terminal.screen()).toBe(0);
    expect(JSON.parse(await readFile(join(folder, 'postrider.json'), 'utf8'))).toMatchObject({
      http: '0.0.0.0:443',
      'http-certificate': cert,
      'http-certificate-key': key,
    });
    const { folder: other } = await fresh();
    const plain = ['--data', other, '--no-unit', '--http', '0.0.0.0:0', ...usual];
    const warned = await withoutQuestions(plain);
    expect([warned.code, warned.said]).toEqual([
      0,
      expect.stringMatching(/tokens and passwords of other machines in the clear/),
    ]);
  });

  it('is not there for a program without a terminal', async () => {
    const { command } = await import('./commands.ts');
    const result = await command(['setup', 'example.com']);
    expect([result.code, result.stderr]).toEqual([
      2,
      expect.stringContaining('repeat the command with --yes'),
    ]);
  });
});
