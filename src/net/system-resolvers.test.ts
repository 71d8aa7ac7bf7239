import { spawnSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseServers } from './system-resolvers.ts';

describe('the text that names DNS servers', () => {
  it('gives addresses and ports, in order, each once', () => {
    expect(
      parseServers('192.0.2.1, 192.0.2.2:5353,[2001:db8::1]:54 ,2001:db8::2,[2001:db8::3],192.0.2.1:53'),
    ).toEqual({
      kind: 'servers',
      servers: [
        { address: '192.0.2.1', port: 53 },
        { address: '192.0.2.2', port: 5353 },
        { address: '2001:db8::1', port: 54 },
        { address: '2001:db8::2', port: 53 },
        { address: '2001:db8::3', port: 53 },
      ],
    });
    expect(parseServers('fe80::1%eth0')).toMatchObject({ servers: [{ address: 'fe80::1%eth0', port: 53 }] });
  });

  it('comes back with the part that cannot be read', () => {
    const bad = ['', 'dns.example', '127.1', '192.0.2.1:', '192.0.2.1:0', '192.0.2.1:65536', '192.0.2.1:5a'];
    const bad6 = [
      '[192.0.2.1]:53',
      '[2001:db8::1',
      '2001:db8::1]:53',
      '[]:53',
      'fe80::1%',
      '192.0.2.1%eth0',
      'system',
    ];
    for (const text of [...bad, ...bad6]) {
      expect(parseServers(`192.0.2.9,${text}`)).toEqual({
        kind: 'invalid',
        text,
        detail: expect.any(String),
      });
    }
  });

  it('of any kind is read or refused', () => {
    fc.assert(fc.property(fc.string(), (text) => ['servers', 'invalid'].includes(parseServers(text).kind)));
  });
});

describe('the servers of the system', () => {
  it('are those that it has now', () => {
    const module = new URL('./system-resolvers.ts', import.meta.url).pathname;
    const program = `
      const { writeFileSync } = require('node:fs');
      (async () => {
        const { createSystemServers } = await import(${JSON.stringify(module)});
        const name = (...all) =>
          writeFileSync('/etc/resolv.conf', all.map((one) => 'nameserver ' + one + '\\n').join(''));
        let ms = 0;
        name('192.0.2.1');
        const servers = createSystemServers({ monotonicMs: () => ms });
        const told = [];
        const first = servers()[0];
        name('192.0.2.2', '192.0.2.1');
        told.push(servers().map(({ address }) => address));
        ms = 10_000;
        told.push(servers().map(({ address }) => address));
        console.log(JSON.stringify([...told, servers()[1] === first]));
      })();`;
    const own = 'mount -t tmpfs own /mnt && touch /mnt/own && mount --bind /mnt/own /etc/resolv.conf';
    const run = (command: string) =>
      spawnSync('unshare', ['--user', '--map-root-user', '--mount', 'sh', '-c', command], {
        encoding: 'utf8',
        env: { ...process.env, NODE: process.execPath, PROGRAM: program },
      });
    if (run(own).status !== 0) {
      process.stderr.write(
        'SKIPPED: the servers of the system: no resolv.conf of its own can be made here\n',
      );
      return;
    }
    const { stdout, stderr } = run(`${own} && exec "$NODE" -e "$PROGRAM"`);
    expect(stderr).not.toMatch(/Error/);
    expect(JSON.parse(stdout)).toEqual([['192.0.2.1'], ['192.0.2.2', '192.0.2.1'], true]);
  });
});
