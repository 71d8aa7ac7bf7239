import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { createServer } from 'node:net';
import os from 'node:os';
import { describe, expect, it, vi } from 'vitest';
import { type Clock, systemClock } from '../lib/clock.ts';
import { connectTcp } from './sockets.ts';

async function listen() {
  const server = createServer((socket) => socket.on('error', () => {}));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return { port, close: () => new Promise((resolve) => server.close(resolve)) };
}

const ask = { address: '127.0.0.1', timeoutMs: 5_000, clock: systemClock };

describe('connecting', () => {
  it('connects to an address, from an address', async () => {
    const { port, close } = await listen();
    const result = await connectTcp({ ...ask, port, localAddress: '127.0.0.7' });
    if (result.kind !== 'connected') throw new Error(result.detail);
    expect(result.socket.localAddress).toBe('127.0.0.7');
    result.socket.destroy();
    await close();
    expect((await connectTcp({ ...ask, port })).kind).toBe('refused');
  });

  it.skipIf(process.platform !== 'linux')('keeps a connection alive that waits for a reply', async () => {
    const { port, close } = await listen();
    const result = await connectTcp({ ...ask, port });
    if (result.kind !== 'connected') throw new Error(result.detail);
    const end = (of: number | undefined) => `:${of?.toString(16).toUpperCase().padStart(4, '0')}`;
    // Both ends: an earlier connection from this port, to another one, may not be forgotten yet.
    const [line = []] = readFileSync('/proc/self/net/tcp', 'utf8')
      .split('\n')
      .map((one) => one.trim().split(/ +/))
      .filter(([, from, to]) => from?.endsWith(end(result.socket.localPort)) && to?.endsWith(end(port)));
    // The timer that runs: 02 = keep-alive.
    expect(line[5]).toMatch(/^02:/);
    result.socket.destroy();
    await close();
  });

  it.each(['localhost', '127.0.0.1.', '', '[::1]', '0x7f000001'])('looks no name up: %j', async (address) => {
    expect((await connectTcp({ ...ask, address, port: 25 })).kind).toBe('error');
  });

  it.each([0, 65_536, 1.5, Number.NaN])('refuses the port %d', async (port) => {
    expect((await connectTcp({ ...ask, port })).kind).toBe('error');
  });

  it('names a source address that this machine does not have', async () => {
    const result = await connectTcp({ ...ask, port: 25, localAddress: '192.0.2.77' });
    expect(result).toMatchObject({
      kind: 'local',
      detail: expect.stringMatching(/192\.0\.2\.77.*EADDRNOTAVAIL.*ip address add/),
    });
  });

  it('names what this process or machine has none left of', () => {
    const path = (file: string) => JSON.stringify(new URL(file, import.meta.url).pathname);
    const program = `
      const { createServer } = require('node:net');
      const { openSync, writeFileSync } = require('node:fs');
      (async () => {
        const { connectTcp } = await import(${path('./sockets.ts')});
        const { createDnsClient } = await import(${path('./dns-client.ts')});
        const { createGuardedHttp } = await import(${path('./guarded-http.ts')});
        const { systemClock: clock } = await import(${path('../lib/clock.ts')});
        const random = (await import(${path('../lib/random.ts')})).createSystemRandom();
        const server = createServer();
        await new Promise((done) => server.listen(0, '127.0.0.1', done));
        const wanted = { address: '127.0.0.1', port: server.address().port, timeoutMs: 5_000, clock };
        const told = async (more = {}) => {
          const { kind, detail } = await connectTcp({ ...wanted, ...more });
          if (kind !== 'connected') console.log(kind, detail);
        };
        if (process.env.PORTS === 'few') {
          writeFileSync('/proc/sys/net/ipv4/ip_local_port_range', '40000 40001');
          for (let i = 0; i < 3; i++) await told();
          await told({ localAddress: '127.0.0.1' });
        }
        // Before each: what was open before may be closed meanwhile.
        const fill = () => { try { for (;;) openSync('/dev/null'); } catch {} };
        fill();
        await told();
        fill();
        const servers = () => [{ address: '127.0.0.1', port: 53 }];
        const asked = await createDnsClient({ clock, random, servers }).query('example.com', 'MX');
        console.log('dns', asked.reason, asked.detail);
        const filter = { check: () => ({ allowed: true, listed: true }) };
        fill();
        const called = await createGuardedHttp({ clock, filter }).get('http://127.0.0.1/', { allowHttp: 'always' });
        console.log('http', called.reason, called.detail);
        process.exit();
      })();`;
    const run = (command: string, env = {}) =>
      spawnSync('sh', ['-c', command, process.execPath, program], {
        encoding: 'utf8',
        env: { ...process.env, ...env },
      });
    const files = /local this process may open no more files \(EMFILE\)\. .*LimitNOFILE/;
    const told = run('ulimit -n 200; exec "$0" -e "$1"').stdout;
    expect(told).toMatch(files);
    for (const who of ['dns', 'http'])
      expect(told).toMatch(new RegExp(`^${who} local .*may open no more files \\(EMFILE\\)`, 'm'));
    const network = 'unshare --user --map-root-user --net sh -c';
    const few = 'ip link set lo up && ulimit -n 200 && exec "$0" -e "$1"';
    const own = `${network} 'ip link set lo up && echo 40000 40001 >/proc/sys/net/ipv4/ip_local_port_range'`;
    if (run(own).status !== 0) {
      process.stderr.write('SKIPPED: local ports used up: no network of its own can be made here\n');
      return;
    }
    const { stdout } = run(`${network} '${few}' "$0" "$1"`, { PORTS: 'few' });
    expect(stdout).toMatch(
      /local all local ports to this host are in use \(EADDRNOTAVAIL\): .*ip_local_port_range/,
    );
    expect(stdout).toMatch(/local all local ports to this host are in use \(EADDRINUSE\)/);
    expect(stdout).toMatch(files);
  });

  it('does without the interfaces where the system does not list them', async () => {
    const unlisted = vi.spyOn(os, 'networkInterfaces').mockImplementation(() => {
      throw new Error('uv_interface_addresses returned EMFILE');
    });
    syncBuiltinESMExports();
    try {
      // There is no route to a group over TCP.
      const { kind } = await connectTcp({ ...ask, address: 'ff02::1', port: 25 });
      expect(['unreachable', 'local']).toContain(kind);
    } finally {
      unlisted.mockRestore();
      syncBuiltinESMExports();
    }
  });

  it('says so where this machine has IPv6 only', () => {
    const file = JSON.stringify(new URL('./sockets.ts', import.meta.url).pathname);
    const clock = JSON.stringify(new URL('../lib/clock.ts', import.meta.url).pathname);
    const program = `
      (async () => {
        const { connectTcp } = await import(${file});
        const { systemClock } = await import(${clock});
        const ask = { address: '203.0.113.1', port: 25, timeoutMs: 5_000, clock: systemClock };
        console.log(JSON.stringify(await connectTcp(ask)));
      })();`;
    const network = `
      set -e; ip link set lo up; ip link add there type veth peer name here; ip link set here up; ip link set there up
      ip -6 addr add 2001:db8::1/64 dev here nodad; exec "$0" -e "$1"`;
    const { status, stdout } = spawnSync(
      'unshare',
      ['--user', '--map-root-user', '--net', 'sh', '-c', network, process.execPath, program],
      { encoding: 'utf8' },
    );
    if (status !== 0) {
      process.stderr.write('SKIPPED: IPv6 only: no network of its own can be made here\n');
      return;
    }
    expect(JSON.parse(stdout)).toEqual({
      kind: 'local',
      detail: expect.stringMatching(/^this machine has IPv6 addresses only, .*203\.0\.113\.1.*key ipv6/),
    });
  });

  it('tells a missing route of this machine from one that a router on the way misses', () => {
    const path = (file: string) => JSON.stringify(new URL(file, import.meta.url).pathname);
    const program = `
      (async () => {
        const { connectTcp } = await import(${path('./sockets.ts')});
        const { createDnsClient } = await import(${path('./dns-client.ts')});
        const { systemClock: clock } = await import(${path('../lib/clock.ts')});
        const random = (await import(${path('../lib/random.ts')})).createSystemRandom();
        for (const address of ['198.51.100.1', '203.0.113.1', '2001:db8::1']) {
          const { kind, detail } = await connectTcp({ address, port: 25, timeoutMs: 5_000, clock });
          console.log(address, kind, detail);
        }
        const servers = () => [{ address: '198.51.100.1', port: 53 }];
        const asked = await createDnsClient({ clock, random, servers }).query('example.com', 'MX');
        console.log('dns', asked.reason, asked.detail);
        const { createGuardedHttp } = await import(${path('./guarded-http.ts')});
        const filter = { check: () => ({ allowed: true, listed: true }) };
        for (const host of ['198.51.100.1', '203.0.113.1']) {
          const called = await createGuardedHttp({ clock, filter }).get('http://' + host + '/', { allowHttp: 'always' });
          console.log('http', called.reason, called.detail);
        }
        process.exit();
      })();`;
    // A router without a way onward, and this machine behind it.
    const network = `
      unshare --net sleep 60 & router=$!
      while [ $(readlink /proc/$router/ns/net) = $(readlink /proc/self/ns/net) ]; do sleep 0.01; done
      ip link add here type veth peer name there netns $router && ip link set here up
      nsenter -t $router -n sh -c 'ip addr add 192.0.2.1/24 dev there && ip link set there up && echo 1 >/proc/sys/net/ipv4/ip_forward'
      ip addr add 192.0.2.2/24 dev here && ip route add 203.0.113.0/24 via 192.0.2.1 && echo made
      "$0" -e "$1"
      kill $router`;
    const own = ['--user', '--map-root-user', '--net', 'sh', '-c', network, process.execPath, program];
    const { stdout } = spawnSync('unshare', own, { encoding: 'utf8' });
    if (!stdout?.startsWith('made')) {
      process.stderr.write('SKIPPED: routes: no network of its own can be made here\n');
      return;
    }
    const noRoute = 'this machine has no route to 198.51.100.1 (ENETUNREACH): ';
    expect(stdout.split('\n')).toMatchObject([
      'made',
      expect.stringContaining(`198.51.100.1 local ${noRoute}`),
      '203.0.113.1 unreachable ENETUNREACH',
      // Which of the two a system without IPv6 says depends on its kernel.
      expect.stringMatching(/^2001:db8::1 unreachable (ENETUNREACH|EADDRNOTAVAIL)$/),
      expect.stringMatching(/^dns local .*has no route to 198\.51\.100\.1 .*ip route/),
      expect.stringMatching(/^http connect .*has no route to 198\.51\.100\.1 .*ip route/),
      expect.stringMatching(/^http connect .*connect ENETUNREACH 203\.0\.113\.1:80/),
      '',
    ]);
  });

  it('gives up when its time is over, leaving no socket', async () => {
    const { port, close } = await listen();
    // A clock on which every limit is over at once.
    const hasty: Clock = {
      ...systemClock,
      setTimer(_delayMs, fire) {
        queueMicrotask(fire);
        return { cancel() {} };
      },
    };
    expect((await connectTcp({ ...ask, port, clock: hasty })).kind).toBe('timeout');
    await close();
  });

  it('gives up when it is aborted', async () => {
    const { port, close } = await listen();
    const abort = new AbortController();
    const connecting = connectTcp({ ...ask, port, signal: abort.signal });
    abort.abort();
    expect((await connecting).kind).toBe('aborted');
    await close();
  });
});
