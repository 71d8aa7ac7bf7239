/** A connection under its TLS plan: what is tried next where TLS does not work, and what is remembered of it. */
import { connect, createServer, type Server, type Socket } from 'node:net';
import { Writable } from 'node:stream';
import { afterEach, describe, expect, it } from 'vitest';
import { createLoggers } from '../../src/lib/log.ts';
import type { Endpoint } from '../../src/pipeline/deliver/endpoints.ts';
import { createOpener, type OpenWish } from '../../src/pipeline/deliver/tls-opening.ts';
import { relayTlsPlan, type TlsPlan } from '../../src/pipeline/deliver/tls-plan.ts';
import type { EgressMemory } from '../../src/policy/limits/shaping/egress-memory.ts';
import { createTlsContexts } from '../../src/smtp/client-tls.ts';
import { createEgressFacts } from '../fakes/egress-facts.ts';
import { startScriptedMx } from '../fakes/scripted-mx.ts';
import { startSmtpSink } from '../fakes/smtp-sink.ts';
import { createTestCa } from '../fakes/test-certificates.ts';
import { createVirtualClock, type VirtualClock } from '../fakes/virtual-clock.ts';

const ca = createTestCa();
const pair = ca.issue({ names: ['mx.test'] });
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
  counted: { policy: 'no-policy-found', domain: 'example.net' },
  testing: null,
};

function opener(clock: VirtualClock, learnt: EgressMemory = createEgressFacts(clock).fresh()) {
  const counted: string[] = [];
  const { service } = createLoggers({
    destination: new Writable({ write: (_, __, done) => done() }),
    level: 'error',
    maskAddresses: false,
  });
  const made = createOpener(
    {
      clock,
      learnt,
      log: service,
      tlsContexts: createTlsContexts({ ca: ca.cert }),
      counters: { count: ({ result }) => counted.push(result) },
    },
    { heloName: 'client.test' },
  );
  return {
    counted,
    ...made,
    /** Opens and closes; the protocol of TLS, 'clear', or how it failed. */
    async how(port: number, plan = OPPORTUNISTIC, wish: Partial<OpenWish> = {}) {
      const result = await made.open(endpoint(port, plan), { signal: new AbortController().signal, ...wish });
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
    expect(await tried.how(mx.port, OPPORTUNISTIC, { tlsRequired: true })).toMatch(/^tls: /);
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
  for (const [isLast, hurried, patienceMs] of [
    [false, false, 60_000],
    [true, true, 60_000],
    [true, false, 300_000],
  ] as const) {
    const mx = await startScriptedMx({ banner: { do: 'silence' } });
    open.push(mx);
    const clock = createVirtualClock();
    const { open: openIt } = opener(clock);
    const target = {
      ...endpoint(mx.port, OPPORTUNISTIC),
      isLast,
      budget: { connectLeftMs: 60_000, hurried },
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
