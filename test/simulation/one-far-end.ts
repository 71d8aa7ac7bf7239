/**
 * One process of the server and one far end, which treats each recipient as its name says and connections as the test
 * wants, on a virtual clock: what a single server does to the mail beside it. Hosts and relays are played by the same
 * far end, each address on its own.
 */

import { createVirtualClock } from '../../src/lib/virtual-clock.ts';
import { createReturnPathTokens } from '../../src/mail/verp.ts';
import type { Lane } from '../../src/model/message.ts';
import { type Submission, sendingCaller } from '../../src/model/submission.ts';
import { QUEUE_DEFAULTS } from '../../src/pipeline/queue/queue.ts';
import type { PathLimits } from '../../src/policy/limits/shaping/types.ts';
import { createNames } from '../../src/simulation/names.ts';
import { type ClientHalf, createNetwork, type ServerHalf } from '../../src/simulation/network.ts';
import { startProcess } from '../../src/simulation/process.ts';
import { createDice } from '../../src/simulation/seeded.ts';
import { submissionOf } from './asking.ts';
import { PARTS } from './parts.ts';
import { openRoom } from './room.ts';

export const MX = '20.1.0.1';
export const SECOND_MX = '20.1.0.2';
const RELAY = { kind: 'relay', host: '20.9.0.1', port: 25, implicitTls: false, auth: null } as const;

/** What a recipient's mail meets, by the beginning of its address. */
type Fate = 'good' | 'busy' | 'drop' | 'garbage' | 'hang' | 'tarpit';

export interface FarEndHabits {
  /** Round trip. */
  latencyMs?: number;
  /** Ends a connection after so many messages, without a word. */
  messages?: number;
  /** Drops what follows the dot of a message. */
  dropsBehindDot?: boolean;
  /** Ends every connection after the greeting of the client. */
  endsAtOnce?: boolean;
  /** Ends every connection at DATA. */
  losesAll?: boolean;
  /** Octets of a message that it takes. */
  size?: number;
  /** Offers CHUNKING; `refused`: and answers BDAT with 502; `twice`: and answers each message two times. */
  chunking?: 'works' | 'refused' | 'twice';
  /** Greets a connection with 421 if so many others are open. */
  connections?: number;
  /** Greets so many connections with 421 before it takes one. */
  refusesFirst?: number;
}

export interface OneFarEnd {
  clock: ReturnType<typeof createVirtualClock>;
  engine: Awaited<ReturnType<typeof startProcess>>['engine'];
  /** One message for each, all at once; those without a domain are at far.test. */
  send(locals: readonly string[], lane?: Lane, octets?: number, expiresInMs?: number): Promise<void>;
  /** Monotonic times at which a recipient's mail was taken. */
  takenAt(local: string): readonly number[];
  connections(address?: string): number;
  /** The most that were open at once. */
  mostOpen(): number;
  row(local: string): { id: number; state: string; attempts: number; lastReply: string | null };
  /** Its mail may have arrived twice, or at all, for all that is known. */
  isMarked(local: string): boolean;
  /** Continues until it is true, or for this time. */
  until(holds: () => boolean, mostMs: number): Promise<boolean>;
  /** Those who hang are answered. */
  release(): void;
  /** Recipients of empty messages that were taken. */
  readonly empty: readonly string[];
  /** Recipients whose mail came by BDAT. */
  readonly whole: readonly string[];
  stop(): Promise<void>;
}

const CALLER = sendingCaller('one');
const TARPIT_MS = 40_000;

export async function startOneFarEnd(
  options: {
    route?: 'mx' | 'relay';
    habits?: FarEndHabits;
    /** Of the second host, where there is one. */
    second?: FarEndHabits;
    limits?: Partial<PathLimits>;
    /** Its hosts are a provider's, towards whom a new source is warmed up. */
    warmUp?: boolean;
    /** So many further domains, shop0.test and so on, each with a host name of its own for the first host. */
    shops?: number;
  } = {},
): Promise<OneFarEnd> {
  const { habits = {}, second, route = 'mx' } = options;
  const clock = createVirtualClock();
  const taken = new Map<string, number[]>();
  const opened = new Map<string, number>();
  const open = new Set<ClientHalf>();
  let mostOpen = 0;
  let met = 0;
  const empty: string[] = [];
  const whole: string[] = [];
  const waiting = new Set<() => void>();
  const room = openRoom({
    shaping: [
      ...['default', 'small'].map((id) => ({ id, limits: options.limits ?? {} })),
      { id: 'relay', limits: { transactionsInFlight: 16, ...(route === 'relay' ? options.limits : {}) } },
      ...(options.warmUp === true ? [{ id: 'provider', mx: ['.far.test'], oneSite: true, limits: {} }] : []),
    ],
    failStoreWrites: null,
  });
  const names = createNames(clock);
  names.setMx('far.test', second === undefined ? ['mx1.far.test'] : ['mx1.far.test', 'mx2.far.test']);
  names.setAddress('mx1.far.test', MX);
  names.setAddress('mx2.far.test', SECOND_MX);
  for (let n = 0; n < (options.shops ?? 0); n += 1) {
    names.setMx(`shop${n}.test`, [`mail.shop${n}.test`]);
    names.setAddress(`mail.shop${n}.test`, MX);
  }
  const network = createNetwork(clock, ({ address }) => {
    const own = address === SECOND_MX ? (second ?? {}) : habits;
    opened.set(address, (opened.get(address) ?? 0) + 1);
    return { kind: 'connects', afterMs: own.latencyMs ?? 1, serve: (client) => serve(client, own) };
  });
  const started = await startProcess(
    {
      ...{ parts: PARTS, clock, names, network, openStore: room.openStore },
      random: createDice(1, 1),
      tokens: createReturnPathTokens([{ id: 1, secret: Buffer.from('return path of one far end') }]),
    },
    {
      folder: room.folder,
      sources: [{ id: 'out1', address: '20.0.0.1' }],
      queue: QUEUE_DEFAULTS,
      ipv6: false,
      diesAfter: null,
      change: null,
      newSources: options.warmUp === true,
      ...(route === 'relay' ? { targets: [RELAY] } : {}),
    },
  );

  return {
    clock,
    engine: started.engine,
    async send(locals, lane = 'normal', octets = 500, expiresInMs) {
      for (const local of locals) {
        const result = await started.engine.acceptance.accept({
          caller: CALLER,
          submission: {
            ...letter(local, lane, octets),
            expiresAt: expiresInMs === undefined ? null : clock.now() + expiresInMs,
          },
          idempotency: null,
        });
        if (result.kind !== 'accepted') throw new Error(`not accepted: ${result.kind}`);
      }
    },
    takenAt: (local) => taken.get(local) ?? [],
    connections: (address = route === 'relay' ? RELAY.host : MX) => opened.get(address) ?? 0,
    mostOpen: () => mostOpen,
    row(local) {
      const row = room.db.get<{ id: number; attempts: number; lastReply: string | null }>(
        'SELECT id, attempts, last_reply AS lastReply FROM delivery WHERE address = ?',
        `${local}@far.test`,
      );
      if (row === undefined) throw new Error(`no recipient ${local}`);
      return { ...row, state: room.stateOf(row.id) };
    },
    isMarked: (local) =>
      room.db.get<{ marked: number }>(
        'SELECT may_be_duplicate AS marked FROM delivery WHERE address = ?',
        `${local}@far.test`,
      )?.marked === 1,
    async until(holds, mostMs) {
      const end = clock.monotonicMs() + mostMs;
      while (!holds() && clock.monotonicMs() < end) await clock.advance(10);
      return holds();
    },
    release() {
      for (const answer of [...waiting]) answer();
    },
    empty,
    whole,
    async stop() {
      const stopping = started.stop(1_000);
      await clock.advance(60_000);
      await stopping;
      room.close();
    },
  };

  function serve(client: ClientHalf, own: FarEndHabits): ServerHalf {
    const { latencyMs = 1 } = own;
    let input = '';
    let inBody = false;
    let chunk: number | null = null;
    let busy = false;
    let local = '';
    let messages = 0;
    for (const one of open) if (!one.isOpen) open.delete(one);
    met += 1;
    const isFull =
      met <= (own.refusesFirst ?? 0) || open.size >= (own.connections ?? Number.POSITIVE_INFINITY);
    if (!isFull) open.add(client);
    mostOpen = Math.max(mostOpen, open.size);
    after(latencyMs, () =>
      isFull ? last('421 4.7.0 far.test too many connections from your host') : say('220 far.test ESMTP'),
    );
    return {
      received(bytes) {
        input += bytes.toString('latin1');
        if (!busy) after(latencyMs, work);
      },
      gone() {},
    };

    function after(ms: number, next: () => void): void {
      busy = true;
      clock.setTimer(ms, () => {
        busy = false;
        if (!client.isOpen) return;
        next();
        work();
      });
    }

    function say(text: string): void {
      if (client.isOpen) client.say(`${text}\r\n`);
    }

    function last(text: string): void {
      say(text);
      client.end();
    }

    function work(): void {
      while (!busy && client.isOpen) {
        if (chunk !== null) {
          if (input.length < chunk) return;
          input = input.slice(chunk);
          chunk = null;
          onChunk();
          continue;
        }
        const end = inBody
          ? input.startsWith('.\r\n')
            ? 0
            : input.indexOf('\r\n.\r\n')
          : input.indexOf('\r\n');
        if (end < 0) return;
        if (inBody) {
          input = own.dropsBehindDot === true ? '' : input.slice(end + (end === 0 ? 3 : 5));
          inBody = false;
          onDot(end === 0);
        } else {
          const line = input.slice(0, end);
          input = input.slice(end + 2);
          onCommand(line);
        }
      }
    }

    function onCommand(line: string) {
      switch (line.slice(0, 4).toUpperCase()) {
        case 'EHLO':
          if (own.chunking !== undefined) client.say('250-far.test\r\n250-CHUNKING\r\n');
          say(`250-far.test\r\n250-PIPELINING\r\n250 SIZE ${own.size ?? 10_000_000}`);
          if (own.endsAtOnce === true) client.end();
          return;
        case 'BDAT':
          chunk = Number(line.split(' ')[1]);
          return;
        case 'RCPT':
          local = /<([^@>]*)@/.exec(line)?.[1] ?? '';
          return onRcpt(fateOf(local));
        case 'DATA':
          if (own.losesAll === true || fateOf(local) === 'drop') return client.reset();
          inBody = true;
          return say('354 go ahead');
        case 'RSET':
          local = '';
          return say('250 ok');
        case 'QUIT':
          return last('221 bye');
        default:
          return say('250 ok');
      }
    }

    function onRcpt(fate: Fate): void {
      if (fate === 'busy') last('421 4.3.2 far.test is too busy for you');
      else if (fate === 'garbage') last('what?');
      else if (fate === 'tarpit') after(TARPIT_MS, () => say('250 ok'));
      else say('250 ok');
    }

    function onChunk() {
      if (local === '') return say('503 5.5.1 RCPT first');
      if (own.chunking === 'refused') return say('502 5.5.1 no BDAT');
      if (fateOf(local) === 'drop') return client.reset();
      whole.push(local);
      onDot(false);
      if (own.chunking === 'twice') say('250 2.0.0 kept');
    }

    function onDot(isEmpty: boolean) {
      if (isEmpty) empty.push(local);
      const to = local;
      const answer = (): void => {
        taken.set(to, [...(taken.get(to) ?? []), clock.monotonicMs()]);
        messages += 1;
        say('250 2.0.0 kept');
        if (own.messages !== undefined && messages >= own.messages) client.end();
      };
      if (fateOf(local) !== 'hang') return answer();
      busy = true;
      waiting.add(() => {
        busy = false;
        answer();
        work();
      });
    }
  }
}

function fateOf(local: string): Fate {
  const fates: readonly Fate[] = ['busy', 'drop', 'garbage', 'hang', 'tarpit'];
  return fates.find((fate) => local.startsWith(fate)) ?? 'good';
}

function letter(to: string, lane: Lane, octets: number): Submission {
  const address = to.includes('@') ? to : `${to}@far.test`;
  const mail = { tenant: 'sender.test', lane, recipients: [address], octets };
  return submissionOf({ ...mail, expiresInMs: null, sendInMs: null }, 0);
}
