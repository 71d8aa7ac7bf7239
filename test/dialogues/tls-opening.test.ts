/** A connection under its TLS plan: what is tried next where TLS does not work, and what is remembered of it. */
import { connect, createServer, type Server, type Socket } from 'node:net';
import { Writable } from 'node:stream';
import { createServer as createTlsServer } from 'node:tls';
import { afterEach, describe, expect, it } from 'vitest';
import { createLoggers } from '../../src/lib/log.ts';
import { createVirtualClock, type VirtualClock } from '../../src/lib/virtual-clock.ts';
import type { Endpoint } from '../../src/pipeline/deliver/tls/endpoint.ts';
import { createOpener } from '../../src/pipeline/deliver/tls/opener.ts';
import { relayTlsPlan, type TlsPlan } from '../../src/pipeline/deliver/tls/plan.ts';
import type { EgressMemory } from '../../src/policy/limits/shaping/egress-memory.ts';
import { createTlsContexts } from '../../src/smtp/client-tls.ts';
import { createEgressFacts } from '../fakes/egress-facts.ts';
import { type Script, startScriptedMx } from '../fakes/scripted-mx.ts';
import { startSmtpSink } from '../fakes/smtp-sink.ts';
import { createTestCa } from '../fakes/test-certificates.ts';

const ca = createTestCa();
const pair = ca.issue({ names: ['mx.test'] });
const OFFER = '250-mx.test\n250 STARTTLS';
const DAY_MS = 24 * 3_600_000;
const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close();
});

const OPPORTUNISTIC: TlsPlan = {
  basis: 'opportunistic',
  mode: 'opportunistic',
  dane: null,
  onlyFor: null,
  counted: 'no-policy-found',
  testing: null,
};

function opener(clock: VirtualClock, egressMemory: EgressMemory = createEgressFacts(clock).fresh()) {
  const counted: string[] = [];
  const { service } = createLoggers({
    destination: new Writable({ write: (_, __, done) => done() }),
    level: 'error',
    maskAddresses: false,
  });
  const made = createOpener(
    {
      clock,
      egressMemory,
      log: service,
      tlsContexts: createTlsContexts({ ca: ca.cert }),
      countTls: (_, result) => counted.push(result),
    },
    { heloName: 'client.test' },
  );
  return {
    counted,
    ...made,
    /** Opens and closes; the protocol of TLS, 'clear', or how it failed. */
    async how(port: number, plan = OPPORTUNISTIC) {
      const result = await made.open(endpoint(port, plan), { signal: new AbortController().signal });
      if (result.kind === 'failed') return `${result.stage}: ${result.reason}`;
      const { tls } = result.session;
      result.session.destroy();
      return tls === null ? 'clear' : tls.protocol;
    },
  };
}

function endpoint(port: number, tls: TlsPlan): Endpoint {
  return {
    host: 'mx.test',
    address: '127.0.0.1',
    port,
    implicitTls: false,
    tls,
    auth: null,
    allowPlaintextAuth: false,
    route: 'mx',
    recipientDomain: 'example.net',
    isLast: false,
    budget: { connectLeftMs: 60_000, hurried: false },
  };
}

/** In front of a server: breaks every connection that sends more than `limit` octets at once, as some old devices do. */
async function startNarrowGate(
  target: number,
  limit: number,
): Promise<{ port: number; broken: () => number; close(): Promise<void> }> {
  const sockets = new Set<Socket>();
  let broken = 0;
  const server: Server = createServer((near) => {
    const far = connect(target, '127.0.0.1');
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => socket.destroy());
      socket.on('close', () => {
        near.destroy();
        far.destroy();
      });
    }
    near.on('data', (chunk: Buffer) => {
      if (chunk.length <= limit) far.write(chunk);
      else {
        broken += 1;
        near.destroy();
      }
    });
    far.on('data', (chunk: Buffer) => near.write(chunk));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    broken: () => broken,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

it('gives no server a second handshake', async () => {
  let refused: (error: Error | null) => void = () => {};
  const again = new Promise<Error | null>((resolve) => {
    refused = resolve;
  });
  const server = createTlsServer({ ...pair, maxVersion: 'TLSv1.2' }, (socket) => {
    socket.on('error', refused);
    socket.write('220 mx.test\r\n');
    socket.once('data', () => {
      socket.write('250 mx.test\r\n');
      socket.renegotiate({}, refused);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  open.push(server);
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const wish = { signal: new AbortController().signal };
  const plan: TlsPlan = { ...OPPORTUNISTIC, mode: 'required' };
  const result = await opener(createVirtualClock()).open(
    { ...endpoint(port, plan), implicitTls: true },
    wish,
  );
  expect((await again)?.message).toMatch(/no renegotiation/);
  if (result.kind === 'open') result.session.destroy();
});

describe('where the handshake breaks', () => {
  it('a small ClientHello gets through, and comes first for a day', async () => {
    const sink = await startSmtpSink({ tls: pair });
    const gate = await startNarrowGate(sink.port, 1000);
    open.push(sink, gate);
    const clock = createVirtualClock();
    const facts = createEgressFacts(clock);
    const tried = opener(clock, facts.fresh());
    expect(await tried.how(gate.port)).toBe('TLSv1.3');
    expect(gate.broken()).toBe(1);
    expect(await tried.how(gate.port)).toBe('TLSv1.3');
    expect(gate.broken()).toBe(1);
    // Also after a restart.
    expect(await opener(clock, await facts.open()).how(gate.port)).toBe('TLSv1.3');
    expect(gate.broken()).toBe(1);
    await clock.advance(DAY_MS + 1);
    expect(await tried.how(gate.port)).toBe('TLSv1.3');
    expect(gate.broken()).toBe(2);
    expect(tried.counted).toEqual(['success', 'success', 'success']);
  });

  it('it goes in the clear for a day where nothing is asked for, then TLS is tried again', async () => {
    const mx = await startScriptedMx({
      capabilities: ['STARTTLS'],
      starttls: { do: 'fake-tls', bytes: 'no', next: 'close' },
    });
    open.push(mx);
    const clock = createVirtualClock();
    const tried = opener(clock);
    const asked = () => mx.connections.filter(({ commands }) => commands.includes('STARTTLS')).length;
    expect(await tried.how(mx.port)).toBe('clear');
    expect(asked()).toBe(2);
    expect(await tried.how(mx.port)).toBe('clear');
    expect(asked()).toBe(2);
    await clock.advance(DAY_MS + 1);
    expect(await tried.how(mx.port)).toBe('clear');
    expect(asked()).toBe(4);
    expect(tried.counted).toEqual(['validation-failure', 'validation-failure', 'validation-failure']);
  });

  it('as its certificates are longer than is read of them, it is not tried again for a day', async () => {
    const long = { key: pair.key, cert: pair.cert + ca.cert.repeat(100) };
    const mx = await startScriptedMx({ capabilities: ['STARTTLS'], starttls: { do: 'tls', pair: long } });
    open.push(mx);
    const tried = opener(createVirtualClock());
    expect(await tried.how(mx.port, { ...OPPORTUNISTIC, mode: 'verified' })).toBe('tls: tls');
    expect(mx.connections).toHaveLength(2);
    expect(await tried.how(mx.port)).toBe('clear');
    expect(await tried.how(mx.port)).toBe('clear');
    expect(mx.connections).toHaveLength(6);
  });

  it('it believes no host without TLS that version 0.1 remembered, which took one 421 for that', async () => {
    const clock = createVirtualClock(0);
    const server = await startSmtpSink({ tls: pair });
    open.push(server);
    const egressMemory = createEgressFacts(clock).fresh();
    const kept = egressMemory.facts('tls-bent', (json) => json, DAY_MS);
    const key = `127.0.0.1:${server.port}`;
    kept.set(key, { to: 'clear', result: 'validation-failure' }, DAY_MS);
    expect(await opener(clock, egressMemory).how(server.port)).toBe('TLSv1.3');
    kept.set(key, { to: 'clear', result: 'validation-failure', why: 'the handshake' }, DAY_MS);
    expect(await opener(clock, egressMemory).how(server.port)).toBe('clear');
  });

  it('it never goes in the clear where TLS is asked for, by the plan or by the path', async () => {
    const mx = await startScriptedMx({
      capabilities: ['STARTTLS'],
      starttls: { do: 'fake-tls', bytes: 'no', next: 'close' },
    });
    open.push(mx);
    const tried = opener(createVirtualClock());
    for (const mode of ['required', 'verified'] as const) {
      expect(await tried.how(mx.port, { ...OPPORTUNISTIC, mode })).toMatch(/^tls: /);
    }
    expect(await tried.how(mx.port, relayTlsPlan('required'))).toMatch(/^tls: /);
    expect(mx.connections.every(({ commands }) => !commands.some((line) => line.startsWith('MAIL')))).toBe(
      true,
    );
  });

  it('a server that demands TLS is asked for it, whatever was remembered', async () => {
    const mx = await startScriptedMx({
      capabilities: ['STARTTLS'],
      starttls: { do: 'fake-tls', bytes: 'no', next: 'close' },
    });
    open.push(mx);
    const clock = createVirtualClock();
    const tried = opener(clock);
    expect(await tried.how(mx.port)).toBe('clear');
    tried.tlsDemanded(endpoint(mx.port, OPPORTUNISTIC));
    expect(await tried.how(mx.port)).toMatch(/^tls: /);
    await clock.advance(7 * DAY_MS + 1);
    expect(await tried.how(mx.port)).toBe('clear');
  });
});

const OFFERED = { capabilities: ['STARTTLS'] } as const;
const HEALTHY = { ...OFFERED, starttls: { do: 'tls', pair } } as const satisfies Script;
/** What one moment may do to the TLS of a host that is well otherwise. */
const FAULTS = {
  'a 421 to STARTTLS': { ...OFFERED, starttls: { do: 'last', reply: '421 4.3.2 busy' } },
  'a reset at STARTTLS': { ...OFFERED, starttls: { do: 'reset' } },
  'a close at STARTTLS': { ...OFFERED, starttls: { do: 'close' } },
  'silence at STARTTLS': { ...OFFERED, starttls: { do: 'silence' } },
  'no offer of STARTTLS': { capabilities: [] },
  'a refusal of STARTTLS': { ...OFFERED, starttls: '454 4.7.0 TLS not available' },
  'garbage in the handshake': { ...OFFERED, starttls: { do: 'fake-tls', bytes: 'no', next: 'close' } },
  'a close behind the handshake': { ...HEALTHY, ehlo: [OFFER, { do: 'close' }] },
  'a reset behind the handshake': { ...HEALTHY, ehlo: [OFFER, { do: 'reset' }] },
  'silence in the handshake': { ...OFFERED, starttls: { do: 'fake-tls', bytes: '', next: 'stay' } },
  'silence behind the handshake': { ...HEALTHY, ehlo: [OFFER, { do: 'silence' }] },
  'a demand for a client certificate': { ...OFFERED, starttls: { do: 'tls', pair, demand: true } },
} as const satisfies Record<string, Script>;

describe.each(Object.entries(FAULTS))('%s', (name, fault) => {
  /** Opens while time passes, for what waits for an answer. */
  async function impatiently<T>(clock: VirtualClock, opening: Promise<T>): Promise<T> {
    let done = false;
    void opening.finally(() => {
      done = true;
    });
    for (;;) {
      await new Promise((resolve) => setImmediate(resolve));
      if (done) return opening;
      if (name.startsWith('silence')) await clock.advance(5_000);
    }
  }
  const refusal = name.includes('STARTTLS') && (name.startsWith('no') || name.startsWith('a refusal'));

  it('once takes no TLS from a host that did it before', async () => {
    const mx = await startScriptedMx([HEALTHY, fault, HEALTHY]);
    open.push(mx);
    const clock = createVirtualClock();
    const facts = createEgressFacts(clock);
    const tried = opener(clock, facts.fresh());
    expect(await tried.how(mx.port)).toBe('TLSv1.3');
    // Also after a restart.
    const later = opener(clock, await facts.open());
    const met = await impatiently(clock, later.how(mx.port));
    expect(met).toMatch(name.includes('421') ? /^starttls: reply/ : /^TLSv1.3$/);
    expect(await later.how(mx.port)).toBe('TLSv1.3');
    expect(mx.connections).toHaveLength(name.includes('421') ? 3 : 4);
  });

  it('for long lets mail go in the clear, an attempt at a time, and TLS comes back', async () => {
    const scripts: Script[] = [HEALTHY, ...Array.from({ length: 40 }, () => fault)];
    const mx = await startScriptedMx(scripts);
    open.push(mx);
    const clock = createVirtualClock();
    const tried = opener(clock);
    expect(await tried.how(mx.port)).toBe('TLSv1.3');
    expect(await impatiently(clock, tried.how(mx.port))).toMatch(/^(tls|starttls|ehlo): /);
    await clock.advance(61_000);
    expect(await impatiently(clock, tried.how(mx.port))).toBe('clear');
  });

  it('at a host that nothing is known of keeps no mail, and is not remembered as a host without TLS', async () => {
    const mx = await startScriptedMx([fault, fault, fault, fault, HEALTHY]);
    open.push(mx);
    const clock = createVirtualClock();
    const tried = opener(clock);
    const first = await impatiently(clock, tried.how(mx.port));
    if (name.includes('421')) {
      expect(first).toBe('starttls: reply');
      await clock.advance(61_000);
      expect(await impatiently(clock, tried.how(mx.port))).toBe('clear');
    } else expect(first).toBe('clear');
    if (refusal || name.startsWith('garbage')) return;
    // The next attempts are asked for TLS again, until one has it.
    let met = '';
    for (let n = 0; n < 4 && met !== 'TLSv1.3'; n++) met = await impatiently(clock, tried.how(mx.port));
    expect(met).toBe('TLSv1.3');
  });

  if (name.startsWith('silence'))
    it('is waited for until it has been silent for ten minutes, then for at most an hour not again', async () => {
      const mx = await startScriptedMx(fault);
      open.push(mx);
      const clock = createVirtualClock();
      const tried = opener(clock);
      const asked = () => mx.connections.filter(({ commands }) => commands.includes('STARTTLS')).length;
      const waits: boolean[] = [];
      for (const passMs of [0, 0, 9 * 60_000, 60_000, 5 * 3_600_000, 59 * 60_000, 60_000]) {
        await clock.advance(passMs);
        const before = asked();
        expect(await impatiently(clock, tried.how(mx.port))).toBe('clear');
        waits.push(asked() > before);
      }
      expect(waits).toEqual([true, true, true, false, true, false, true]);
    });

  it('never leads to the clear where TLS is asked for', async () => {
    const mx = await startScriptedMx(fault);
    open.push(mx);
    const clock = createVirtualClock();
    const tried = opener(clock);
    const plans: TlsPlan[] = [
      { ...OPPORTUNISTIC, mode: 'required' },
      { ...OPPORTUNISTIC, mode: 'verified' },
      { ...OPPORTUNISTIC, mode: 'dane', dane: { records: [], names: [] } },
      relayTlsPlan('verified'),
    ];
    for (const plan of plans) {
      for (let n = 0; n < 3; n++) {
        expect(await impatiently(clock, tried.how(mx.port, plan))).toMatch(/^(tls|starttls|ehlo): /);
        await clock.advance(120_000);
      }
    }
  });
});

it.each(['no offer of STARTTLS', 'a refusal of STARTTLS'] as const)(
  '%s for a minute is no word for a day: with the offer TLS is back',
  async (name) => {
    const fault: Script = FAULTS[name];
    const mx = await startScriptedMx([HEALTHY, fault, fault, fault, HEALTHY]);
    open.push(mx);
    const clock = createVirtualClock();
    const tried = opener(clock);
    expect(await tried.how(mx.port)).toBe('TLSv1.3');
    expect(await tried.how(mx.port)).toMatch(/^starttls: /);
    await clock.advance(61_000);
    // By then it takes one connection.
    expect(await tried.how(mx.port)).toBe('clear');
    expect(await tried.how(mx.port)).toBe('TLSv1.3');
    expect(mx.connections).toHaveLength(5);
  },
);

/** A host whose TLS works, an opener that knows nothing of it, and what is kept of it across restarts. */
async function healthyHost() {
  const mx = await startScriptedMx(HEALTHY);
  open.push(mx);
  const clock = createVirtualClock();
  const facts = createEgressFacts(clock);
  const tried = opener(clock, facts.fresh());
  const at = endpoint(mx.port, OPPORTUNISTIC);
  return { mx, clock, facts, tried, at };
}

it('a host whose handshake failed twice in a row is spoken to in the clear for a day, and no longer', async () => {
  const mx = await startScriptedMx([
    ...Array.from({ length: 3 }, () => FAULTS['garbage in the handshake']),
    HEALTHY,
  ]);
  open.push(mx);
  const clock = createVirtualClock();
  const tried = opener(clock);
  expect(await tried.how(mx.port)).toBe('clear');
  expect(await tried.how(mx.port)).toBe('clear');
  expect(mx.connections.map(({ commands }) => commands.includes('STARTTLS'))).toEqual([
    true,
    true,
    false,
    false,
  ]);
  await clock.advance(DAY_MS);
  expect(await tried.how(mx.port)).toBe('TLSv1.3');
});

it('a host whose sessions under TLS end before the first answer is spoken to in the clear for an hour', async () => {
  const { mx, clock, facts, tried, at } = await healthyHost();
  tried.firstUnderTls(at, 'mail: the server closed the connection');
  // One fault is none.
  expect(await tried.how(mx.port)).toBe('TLSv1.3');
  await clock.advance(60_000);
  tried.firstUnderTls(at, 'mail: the server closed the connection');
  expect(await tried.how(mx.port)).toBe('clear');
  expect(tried.counted.at(-1)).toBe('validation-failure');
  expect(await opener(clock, await facts.open()).how(mx.port)).toBe('clear');
  expect(await tried.how(mx.port, { ...OPPORTUNISTIC, mode: 'required' })).toBe('TLSv1.3');
  await clock.advance(3_600_001);
  expect(await tried.how(mx.port)).toBe('TLSv1.3');
  tried.firstUnderTls(at, 'mail: the server closed the connection');
  tried.firstUnderTls(at, null);
  await clock.advance(60_000);
  tried.firstUnderTls(at, 'mail: the server closed the connection');
  expect(await tried.how(mx.port)).toBe('TLSv1.3');
});

it('a host that answered messages under TLS in the last week gets none in the clear until its sessions ended for twelve hours', async () => {
  const { mx, clock, facts, tried, at } = await healthyHost();
  tried.firstUnderTls(at, null);
  const die = async (attempt: typeof tried) => {
    for (let times = 0; times < 3; times += 1) {
      attempt.firstUnderTls(at, 'mail: the server closed the connection');
      await clock.advance(60_000);
    }
  };
  await die(tried);
  expect(await tried.how(mx.port)).toBe('TLSv1.3');
  // Also after a restart, but not for ever: it may have lost its TLS.
  const restarted = opener(clock, await facts.open());
  await clock.advance(11 * 3_600_000);
  await die(restarted);
  expect(await restarted.how(mx.port)).toBe('TLSv1.3');
  await clock.advance(3_600_000);
  await die(restarted);
  expect(await restarted.how(mx.port)).toBe('clear');
  await clock.advance(3_600_001);
  expect(await restarted.how(mx.port)).toBe('TLSv1.3');
});

it('who looks at a message learns why its connection was in the clear', async () => {
  const mx = await startScriptedMx(FAULTS['a close behind the handshake']);
  open.push(mx);
  const { open: openIt } = opener(createVirtualClock());
  const result = await openIt(endpoint(mx.port, OPPORTUNISTIC), { signal: new AbortController().signal });
  if (result.kind === 'failed') throw new Error(result.detail);
  expect(result.session.inClear).toMatch(/^TLS failed: .*closed/);
  expect(result.session.conversation.text()).toContain('(in the clear: TLS failed: ');
  result.session.destroy();
});

it('plaintext behind STARTTLS is no reason for another try', async () => {
  const mx = await startScriptedMx({
    capabilities: ['STARTTLS'],
    starttls: { do: 'tls-inject', bytes: '250 x\r\n', pair },
  });
  open.push(mx);
  const tried = opener(createVirtualClock());
  expect(await tried.how(mx.port)).toBe('starttls: injection');
  expect(mx.connections).toHaveLength(1);
  expect(tried.counted).toEqual(['validation-failure']);
});

it('a server without TLS is counted as such', async () => {
  const mx = await startScriptedMx({ capabilities: [] });
  open.push(mx);
  const tried = opener(createVirtualClock());
  expect(await tried.how(mx.port)).toBe('clear');
  expect(await tried.how(mx.port, { ...OPPORTUNISTIC, mode: 'verified' })).toBe('starttls: tls');
  expect(tried.counted).toEqual(['starttls-not-supported', 'starttls-not-supported']);
});

it('the last host may take five minutes to greet, unless somebody is in a hurry', async () => {
  for (const [isLast, hurried, patienceMs, test] of [
    [false, false, 60_000],
    [true, true, 60_000],
    [true, false, 300_000],
    // A relay that is tested while another works.
    [true, false, 10_000, { connectMs: 5_000, stepMs: 10_000 }],
  ] as const) {
    const mx = await startScriptedMx({ banner: { do: 'silence' } });
    open.push(mx);
    const clock = createVirtualClock();
    const { open: openIt } = opener(clock);
    const target = {
      ...endpoint(mx.port, OPPORTUNISTIC),
      isLast,
      budget: { connectLeftMs: 60_000, hurried, test },
    };
    let result: string | null = null;
    const opening = openIt(target, { signal: new AbortController().signal }).then((answer) => {
      result = answer.kind === 'failed' ? `${answer.stage}: ${answer.reason}` : answer.kind;
    });
    while (mx.connections.length === 0) await new Promise((resolve) => setImmediate(resolve));
    await clock.advance(patienceMs - 1000);
    expect(result).toBeNull();
    await clock.advance(2000);
    await opening;
    expect(result).toBe('banner: timeout');
  }
});
