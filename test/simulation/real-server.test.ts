/**
 * The claim of a simulation, held against a real run: the same small plan is played, and is run by a whole server (HTTP, a
 * database file, real sockets) whose relay answers with the plan's delays and deferrals. The server and the
 * relay share a clock that goes on a little whenever nothing moves on the wire any more: so a machine that is slow changes
 * little. Times must agree within 10 %.
 */
import { writeFile } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { Clock } from '../../src/lib/clock.ts';
import { createVirtualClock, type VirtualClock } from '../../src/lib/virtual-clock.ts';
import { addDomain, fileScope, type Scope, startInstance, temporaryFolder } from '../scenarios/harness.ts';
import { isNear, played } from './played.ts';

const scope = fileScope();
const RECIPIENTS = 200;
const ROUND_TRIP_MS = 80;
const ANSWER_MS = 200;
const DEFERRED = 0.2;
const FAULT_MS = 8_000;
const LIMITS = { connections: 4, messagesPerConnection: 50, transactionsInFlight: 1 };
/** TCP, TLS as the plan has it, and the greeting. */
const GREETING_TRIPS = 5;
const MOST_A_REQUEST = 50;
/** Turns of the event loop without a byte on the wire, after which nothing more comes by itself. */
const QUIET_TURNS = 2;
/** So far the clock goes then; further where the wire was quiet for a while, as before a retry. */
const STEP_MS = 5;
const LONG_STEP_MS = 200;
const QUIET_MS = 1_500;

it.each([
  ['connections', 100],
  ['rate', 6],
])(
  'agrees with a real server about a plan bound by its %s within a tenth',
  async (_, messagesPerSecond) => {
    const clock = createVirtualClock(Date.now());
    const relay = await startRelay(clock, scope);
    const folder = await temporaryFolder(scope);
    const limits = [{ id: 'relay1', relays: [relay.name], limits: { ...LIMITS, messagesPerSecond } }];
    await writeFile(join(folder, 'shaping.json'), JSON.stringify(limits));
    const starting = startInstance(scope, {
      ...{ folder, clock },
      settings: { route: `smtp://${relay.name}`, dkim: 'off', database: 'sqlite:' },
    });
    const server = await starting;
    await addDomain(server, 'example.com');

    const startMs = clock.monotonicMs();
    relay.begin(startMs);
    for (let from = 0; from < RECIPIENTS; from += MOST_A_REQUEST)
      await server.send({
        From: { email: 'news@example.com' },
        To: Array.from({ length: MOST_A_REQUEST }, (_, i) => ({ email: `u${from + i}@example.net` })),
      });
    const pass = passing(clock, relay);
    while (relay.takenAt.length < RECIPIENTS) await pass();
    const real = relay.takenAt.map((at) => at - startMs).sort((a, b) => a - b);
    const at = (share: number) => real[Math.min(real.length - 1, Math.floor(share * real.length))] ?? 0;
    // What is still to be stored when the server stops has its time too.
    const stopping = server.stop();
    let stopped = false;
    void stopping.finally(() => {
      stopped = true;
    });
    while (!stopped) await pass();

    const forecast = await played({
      mail: [{ provider: 'other', domains: 1, recipients: RECIPIENTS, lane: 'normal', until: '00:00' }],
      route: `smtp://${relay.name}`,
      limits,
      farEnds: [{ name: relay.name, roundTripMs: ROUND_TRIP_MS, answerMs: ANSWER_MS, chunking: false }],
      faults: [{ at: relay.name, what: 'defers', share: DEFERRED, for: `${FAULT_MS}ms` }],
    });
    const [group] = forecast.groups;
    expect(group?.delivered).toBe(RECIPIENTS);
    const pairs = {
      half: [at(0.5), group?.delivery?.halfMs ?? 0],
      most: [at(0.99), group?.delivery?.mostMs ?? 0],
      last: [at(1), group?.delivery?.longestMs ?? 0],
    } as const;
    for (const [name, [ran, simulated]] of Object.entries(pairs))
      expect(
        isNear(ran, simulated),
        `${name}: ${Math.round(ran)} ms ran, ${Math.round(simulated)} simulated`,
      ).toBe(true);
    // One that the server has left may still be open at the relay.
    expect(Math.abs(forecast.connections.peak - relay.mostOpen())).toBeLessThanOrEqual(1);
  },
  180_000,
);

interface Relay {
  /** `host:port`. */
  readonly name: string;
  readonly takenAt: readonly number[];
  mostOpen(): number;
  /** Everything that moved on the wire so far. */
  moved(): number;
  /** Deferrals begin. */
  begin(atMs: number): void;
}

/** A relay on a real socket; it shares no code with the simulated one. */
async function startRelay(clock: Clock, { defer }: Scope): Promise<Relay> {
  const takenAt: number[] = [];
  const sockets = new Set<Socket>();
  let moved = 0;
  let mostOpen = 0;
  let beganMs = 0;
  let asked = 0;
  const server = createServer((socket) => {
    // Small replies in a row would wait for acknowledgements, in real time.
    socket.setNoDelay(true);
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    socket.on('error', () => {});
    mostOpen = Math.max(mostOpen, sockets.size);
    moved += 1;
    let input = '';
    let inBody = false;
    let refused = false;
    let busy = true;
    later(GREETING_TRIPS * ROUND_TRIP_MS, () => socket.write('220 relay ESMTP\r\n'));
    socket.on('data', (bytes) => {
      moved += 1;
      input += bytes.toString('latin1');
      if (!busy) later(ROUND_TRIP_MS, work);
    });

    function later(ms: number, next: () => void): void {
      busy = true;
      clock.setTimer(ms, () => {
        busy = false;
        if (socket.destroyed) return;
        moved += 1;
        next();
        if (!busy && input !== '') work();
      });
    }

    function work(): void {
      let out = '';
      while (!busy) {
        const end = input.indexOf(inBody ? '\r\n.\r\n' : '\r\n');
        if (end < 0) break;
        const line = input.slice(0, end);
        input = input.slice(end + (inBody ? 5 : 2));
        if (inBody) {
          inBody = false;
          takenAt.push(clock.monotonicMs());
          later(ANSWER_MS, () => socket.write('250 2.0.0 kept\r\n'));
        } else out += answer(line);
      }
      if (out !== '') socket.write(out);
    }

    function answer(line: string): string {
      switch (line.slice(0, 4).toUpperCase()) {
        case 'EHLO':
          return '250-relay\r\n250-PIPELINING\r\n250 SIZE 10000000\r\n';
        case 'MAIL':
          refused = false;
          return '250 2.1.0 ok\r\n';
        case 'RCPT': {
          asked += 1;
          refused = clock.monotonicMs() - beganMs < FAULT_MS && asked % Math.round(1 / DEFERRED) === 0;
          return refused ? '451 4.3.0 Temporary lookup failure\r\n' : '250 2.1.5 ok\r\n';
        }
        case 'DATA':
          inBody = !refused;
          return refused ? '503 5.5.1 no valid recipients\r\n' : '354 go ahead\r\n';
        case 'QUIT':
          socket.end('221 bye\r\n');
          return '';
        default:
          return '250 ok\r\n';
      }
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  defer(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    name: `127.0.0.1:${address.port}`,
    takenAt,
    mostOpen: () => mostOpen,
    moved: () => moved,
    begin(atMs) {
      beganMs = atMs;
    },
  };
}

/** One step of the time that server and relay share. */
function passing(clock: VirtualClock, { moved }: Relay): () => Promise<void> {
  let movedAtMs = clock.monotonicMs();
  let before = moved();
  return async () => {
    for (let turns = 0; turns < QUIET_TURNS; turns++) {
      await new Promise((resolve) => setTimeout(resolve, 1));
      if (moved() === before) continue;
      before = moved();
      movedAtMs = clock.monotonicMs();
      turns = 0;
    }
    await clock.advance(clock.monotonicMs() - movedAtMs < QUIET_MS ? STEP_MS : LONG_STEP_MS);
  };
}
