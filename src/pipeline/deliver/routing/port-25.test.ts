/** When outgoing port 25 seems blocked. */
import { createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../lib/clock.ts';
import type { Logger } from '../../../lib/log.ts';
import { createVirtualClock } from '../../../lib/virtual-clock.ts';
import { createPort25Watch, probePort25 } from './port-25.ts';

describe('the watch over outgoing connections', () => {
  function watch() {
    const clock = createVirtualClock();
    const said: string[] = [];
    const note = (_fields: unknown, text: string) => void said.push(text);
    const log: Logger = { debug: note, info: note, warn: note, error: note };
    return { clock, said, watch: createPort25Watch({ clock, log }, { port: 25 }) };
  }

  it('says once that the port seems blocked, when three sites and none before answered', () => {
    const { said, watch: port } = watch();
    for (const site of ['a', 'a', 'b', 'b']) port.unanswered(site);
    expect(port.suspicion()).toBeNull();
    for (const site of ['c', 'd']) port.unanswered(site);
    expect(port.suspicion()).toMatch(
      /^outgoing port 25 seems blocked on this machine's network: .*relay.*provider/,
    );
    expect(said).toHaveLength(1);
  });

  it('does not while something answers, and takes it back when something does', async () => {
    const { clock, said, watch: port } = watch();
    port.connected();
    for (const site of ['a', 'b', 'c']) port.unanswered(site);
    expect(port.suspicion()).toBeNull();
    await clock.advance(3_600_000);
    for (const site of ['a', 'b', 'c']) port.unanswered(site);
    expect(port.suspicion()).not.toBeNull();
    port.connected();
    expect(port.suspicion()).toBeNull();
    expect(said).toHaveLength(2);
  });
});

describe('the probe of port 25', () => {
  it('finds it open where a host answers, even by refusing', async () => {
    const server = createServer((socket) => socket.destroy());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const target = { address: '127.0.0.1', port };
    expect(await probePort25({ clock: systemClock, targets: [target] })).toMatchObject({ kind: 'open' });
    await new Promise((resolve) => server.close(resolve));
    expect(await probePort25({ clock: systemClock, targets: [target] })).toMatchObject({
      kind: 'open',
      detail: expect.stringContaining('refuses'),
    });
  });

  it('finds it blocked where none of them can be reached in time', async () => {
    const clock = createVirtualClock();
    // A port nobody opened would refuse; no time at all is left, so no answer can come.
    const asked = probePort25({ clock, targets: [{ address: '127.0.0.1', port: 9 }], timeoutMs: 0 });
    await clock.advance(1);
    expect(await asked).toMatchObject({ kind: 'blocked', detail: expect.stringContaining('port 9') });
  });

  it('contacts nobody unasked', async () => {
    expect(await probePort25({ clock: systemClock, targets: [] })).toMatchObject({ kind: 'unknown' });
  });
});
