/**
 * The Debian package: built, installed by dpkg into a folder, started by the command line of its unit, upgraded, removed and
 * purged. `systemctl` is a program of this test that writes down what it is told. In place of the pinned Node, which would be
 * copied several times, the package gets a script that starts the Node of this test.
 */
import { execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { appendFile, chmod, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../fakes/own-postfix.ts';
import { fileScope, request, temporaryFolder, until } from './harness.ts';
import { PROJECT } from './how-to-page.ts';

const run = promisify(execFile);
const scope = fileScope();
const possible = process.getuid?.() === 0 && existsSync('/usr/bin/dpkg') && existsSync('/usr/sbin/useradd');
if (!possible) process.stderr.write('SKIPPED: the Debian package: only root on Debian can install it\n');

describe.skipIf(!possible)('the Debian package', () => {
  let folder: string;
  /** What is `/` for the package. */
  let root: string;
  let port: number;
  const data = () => join(root, 'var/lib/postrider');
  const told = () => readFile(join(folder, 'told'), 'utf8').catch(() => '');

  beforeAll(async () => {
    folder = await temporaryFolder(scope);
    await chmod(folder, 0o711);
    root = join(folder, 'root');
    port = await freePort();
    for (const place of ['etc', 'var/lib/dpkg/info', 'var/lib/dpkg/updates', 'bin'])
      await mkdir(join(place === 'bin' ? folder : root, place), { recursive: true });
    for (const file of ['etc/passwd', 'etc/group', 'etc/shadow', 'etc/gshadow', 'var/lib/dpkg/status'])
      await writeFile(join(root, file), '');
    const systemctl = `#!/bin/sh\necho "$*" >>${folder}/told\n[ "$1" != is-active ] || [ -e ${folder}/active ]\n`;
    await writeFile(join(folder, 'bin/systemctl'), systemctl, { mode: 0o755 });
    await writeFile(join(folder, 'node'), `#!/bin/sh\nexec ${process.execPath} "$@"\n`, { mode: 0o755 });
    const server = join(folder, 'server');
    await run(process.execPath, [join(PROJECT, 'packages/server/build.mjs'), server]);
    await build('0.1.0');
    await build('0.1.1');
    await writeFile(join(server, 'build/store/sqlite/migrations/9999-later.sql'), '');
    await build('0.2.0');
  });

  async function build(version: string): Promise<void> {
    const from = ['--package', join(folder, 'server'), '--node', join(folder, 'node'), '--version', version];
    const args = [...from, '--out', folder, '--compression=-Znone'];
    await run(process.execPath, [join(PROJECT, 'packages/debian/build.mjs'), ...args]);
  }

  async function dpkg(...args: string[]): Promise<string> {
    const into = [`--root=${root}`, '--force-script-chrootless', '--force-depends'];
    const env = { PATH: `${join(folder, 'bin')}:/usr/sbin:/usr/bin:/sbin:/bin`, LC_ALL: 'C' };
    const { stdout } = await run('dpkg', [...into, ...args], { env });
    return stdout;
  }

  async function install(version: string): Promise<string> {
    const names = (await readdir(folder)).filter((name) => name.startsWith(`postrider_${version}_`));
    return dpkg('--install', join(folder, names[0] ?? ''));
  }

  async function account(): Promise<{ uid: number; gid: number } | null> {
    const passwd = await readFile(join(root, 'etc/passwd'), 'utf8');
    const [, uid, gid] = /^postrider:[^:]*:(\d+):(\d+):/m.exec(passwd) ?? [];
    return uid === undefined ? null : { uid: Number(uid), gid: Number(gid) };
  }

  it('makes an account and a folder for it alone, and starts nothing', async () => {
    expect(await install('0.1.0')).toContain('does not run yet. Next: postrider setup');
    const { uid, gid, mode } = await stat(data());
    expect([{ uid, gid }, mode & 0o777]).toEqual([await account(), 0o700]);
    expect(uid).not.toBe(0);
    expect((await readdir(data())).length).toBe(0);
    expect(await told()).toBe('daemon-reload\n');
  });

  it('has no file that others may write or that somebody else owns', async () => {
    const { stdout } = await run('dpkg-deb', [
      '--contents',
      join(folder, (await readdir(folder)).find((n) => n.startsWith('postrider_0.1.0')) ?? ''),
    ]);
    const wrong = stdout
      .split('\n')
      .filter((line) => line !== '' && !/^(?:l.{9}|.{5}-..-.) root\/root /.test(line));
    expect(wrong).toEqual([]);
    expect(stdout).toMatch(/ \.\/usr\/bin\/postrider -> \.\.\/lib\/postrider\/bin\/postrider$/m);
  });

  it('runs by the command line of its unit, as its account', async () => {
    await appendFile(
      join(root, 'etc/default/postrider'),
      `POSTRIDER_HTTP=127.0.0.1:${port}\nPOSTRIDER_ROUTE=sandbox\n`,
    );
    const server = await startUnit();
    const token = (await readFile(join(data(), 'admin-token'), 'utf8')).trim();
    const added = await request('POST', `http://127.0.0.1:${port}/api/v1/domains`, {
      ...{ token, body: { Domain: 'example.com', Verified: true } },
    });
    expect(added.status).toBe(201);
    expect((await stat(join(data(), 'postrider.db'))).uid).toBe((await account())?.uid);
    await server.stop();
  });

  async function startUnit() {
    const unit = await readFile(join(root, 'usr/lib/systemd/system/postrider.service'), 'utf8');
    expect(unit).toContain('\nUser=postrider\n');
    const line = /^ExecStart=(.+)$/m.exec(unit)?.[1] ?? '';
    const [command = '', ...args] = line.replaceAll(/(^| )\//g, `$1${root}/`).split(' ');
    const file = /^EnvironmentFile=-(.+)$/m.exec(unit)?.[1] ?? '';
    const settings = (await readFile(join(root, file), 'utf8')).matchAll(/^(POSTRIDER_\w+)=(.*)$/gm);
    const env = Object.fromEntries([...settings].map(([, name, value]) => [name, value]));
    const ids = (await account()) ?? {};
    const child = spawn(command, args, { ...ids, env: { PATH: '/usr/bin:/bin', ...env }, stdio: 'pipe' });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
      });
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
    const stop = async () => {
      child.kill('SIGTERM');
      expect(await ended, output).toBe(0);
    };
    scope.defer(() => void child.kill('SIGKILL'));
    await until('the unit runs', async () => {
      if (child.exitCode !== null) throw new Error(output);
      return fetch(`http://127.0.0.1:${port}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      );
    });
    return { stop };
  }

  it('is upgraded while it runs: it stops, and starts again where the database stays as it is', async () => {
    await writeFile(join(folder, 'active'), '');
    await rm(join(folder, 'told'));
    expect(await install('0.1.1')).not.toContain('stopped');
    expect((await told()).split('\n')).toEqual([
      ...['is-active --quiet postrider.service', 'stop postrider.service'],
      ...['daemon-reload', 'daemon-reload', 'start postrider.service', ''],
    ]);
    // What an operator wrote into the file of settings stays.
    expect(await readFile(join(root, 'etc/default/postrider'), 'utf8')).toContain(
      `POSTRIDER_HTTP=127.0.0.1:${port}`,
    );
    const server = await startUnit();
    const token = (await readFile(join(data(), 'admin-token'), 'utf8')).trim();
    const domains = await request('GET', `http://127.0.0.1:${port}/api/v1/domains`, { token });
    expect(domains.json.Items).toMatchObject([{ Domain: 'example.com' }]);
    await server.stop();
  });

  it('changes no database without being asked: it stays stopped, and says how to go on', async () => {
    await rm(join(folder, 'told'));
    expect(await install('0.2.0')).toMatch(/postrider is stopped: .* then: systemctl start postrider/s);
    expect(await told()).not.toContain('\nstart postrider');
  });

  it('is removed without its data, and purged without mail and keys', async () => {
    await rm(join(folder, 'told'));
    await mkdir(join(root, 'usr/lib/postrider/node_modules/.cache/postrider'), { recursive: true });
    await dpkg('--remove', 'postrider');
    expect(await told()).toMatch(/^stop postrider[\s\S]*\ndisable --quiet postrider/m);
    expect(existsSync(join(root, 'usr/lib/postrider'))).toBe(false);
    expect(existsSync(join(root, 'etc/default/postrider'))).toBe(true);
    await writeFile(join(data(), 'postrider.json'), '{}');
    await mkdir(join(root, 'etc/systemd/system'), { recursive: true });
    await writeFile(join(root, 'etc/systemd/system/postrider.service'), '# Written by postrider setup. …\n');
    await rm(join(folder, 'active'), { force: true });
    expect(await install('0.2.0')).toContain(
      'does not run. To start it, now and with the machine: systemctl enable',
    );
    expect(await dpkg('--purge', 'postrider')).toContain(
      '/var/lib/postrider stays: it holds mail, keys and events.',
    );
    expect(existsSync(join(root, 'etc/default/postrider'))).toBe(false);
    expect(await readdir(join(root, 'etc/systemd/system'))).toEqual([]);
    expect(await readdir(data())).toEqual(expect.arrayContaining(['postrider.db', 'secret-key']));
    expect(await readdir(data())).not.toContain('postrider.json');
    expect(await account()).not.toBeNull();
  });

  it('leaves nothing where there is no data', async () => {
    await rm(data(), { recursive: true });
    await install('0.1.0');
    await dpkg('--purge', 'postrider');
    expect(existsSync(data())).toBe(false);
    expect(await account()).toBeNull();
    const { stdout } = await run('find', ['.', '-path', '*postrider*', '-not', '-path', '*/dpkg/*'], {
      cwd: root,
    });
    expect(stdout).toBe('');
  });
});
