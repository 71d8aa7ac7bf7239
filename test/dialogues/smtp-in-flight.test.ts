import { Duplex } from 'node:stream';
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { createVirtualClock } from '../../src/lib/virtual-clock.ts';
import { openSession } from '../../src/smtp/client-session.ts';
import type { OpenOptions, Session, Transaction, TransactionResult } from '../../src/smtp/client-types.ts';
import { type Script, type ScriptedMx, startScriptedMx } from '../fakes/scripted-mx.ts';

// Messages in flight: several unanswered on one connection, against servers that answer in every wrong way.

const cleanups: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const CHUNKING = ['PIPELINING', 'SIZE 1000000', '8BITMIME', 'CHUNKING'];
const GOOD_RCPT = '250 2.1.5 this one is fine';
const TAKEN = '250 2.6.0 message taken';

function message(n: number): Transaction {
  const data = [
    Buffer.from(`Subject: number ${n}\r\n`),
    Buffer.from(`\r\n..two dots\r\n.\r\nend of ${n}\r\n`),
  ];
  return {
    mailFrom: `from${n}@client.test`,
    recipients: [`to${n}@mx.test`],
    data,
    size: data.reduce((sum, part) => sum + part.length, 0),
    smtpUtf8: false,
    eightBit: false,
  };
}

async function open(address: string, port: number, options: Partial<OpenOptions> = {}): Promise<Session> {
  const target = { host: 'mx.test', address, port, implicitTls: false };
  const opened = await openSession(target, {
    ...{ clock: systemClock, heloName: 'client.test', tls: 'off' },
    ...options,
  });
  if (opened.kind !== 'open') throw new Error(`not open: ${opened.stage} ${opened.detail}`);
  cleanups.push(() => opened.session.destroy());
  return opened.session;
}

interface Started {
  mx: ScriptedMx;
  session: Session;
  /** What was found out about the server. */
  faults: string[];
}

/** A session whose first message was accepted while it was alone. */
async function start(script: Script, options: Partial<OpenOptions> = {}): Promise<Started> {
  const mx = await startScriptedMx({ capabilities: CHUNKING, ...script });
  cleanups.push(() => mx.close());
  const session = await open(mx.host, mx.port, options);
  const faults: string[] = [];
  session.watch({ patienceMs: () => 60_000, slow() {}, outOfStep: (why) => void faults.push(why) });
  expect(short(await session.sendWhole(message(0)))).toBe('accepted');
  return { mx, session, faults };
}

/** Sends the messages 1 to `count` without waiting, so that all are unanswered at once. */
function sendMany(session: Session, count: number): Promise<TransactionResult[]> {
  const all = Array.from({ length: count }, (_, i) => {
    expect(session.maySendWhole(16)).toBe(true);
    return session.sendWhole(message(i + 1));
  });
  expect(session.inFlight()).toBe(count);
  return Promise.all(all);
}

/** A result in one word or two. */
function short(result: TransactionResult): string {
  if (result.kind === 'not-sendable') return result.why;
  if (result.kind === 'done') {
    const [one] = result.recipients;
    return one?.accepted === true ? 'accepted' : `${one?.stage} ${one?.reply.code}`;
  }
  if (result.afterDot) return 'unknown';
  return result.untried ? 'untried' : `lost by ${result.reason}`;
}

describe('messages in flight', () => {
  it('go in one write each, whole and unchanged, and every reply is for its own', async () => {
    const { mx, session } = await start({});
    const results = await sendMany(session, 4);
    expect(results.map(short)).toEqual(['accepted', 'accepted', 'accepted', 'accepted']);
    const [wire] = mx.connections;
    expect(wire?.commands.slice(1, 5)).toEqual([
      'RSET',
      expect.stringContaining('MAIL FROM:<from0@client.test> SIZE='),
      'RCPT TO:<to0@mx.test>',
      `BDAT ${message(0).size} LAST`,
    ]);
    expect(wire?.messages.map(String)).toEqual(
      [0, 1, 2, 3, 4].map((n) => Buffer.concat(message(n).data).toString()),
    );
    expect(session.state()).toBe('idle');
    expect(session.delivered()).toBe(5);
  });

  it('are more than one only after the first was accepted, and as many as allowed', async () => {
    const mx = await startScriptedMx({ capabilities: CHUNKING });
    cleanups.push(() => mx.close());
    const session = await open(mx.host, mx.port);
    expect(session.maySendWhole(8)).toBe(true);
    const first = session.sendWhole(message(0));
    expect(session.maySendWhole(8)).toBe(false);
    expect(session.hasRoom()).toBe(false);
    await first;
    const second = session.sendWhole(message(1));
    expect(session.maySendWhole(1)).toBe(false);
    expect(session.maySendWhole(2)).toBe(true);
    await second;
    const data = session.transact(message(2));
    expect(session.maySendWhole(8)).toBe(false);
    expect(short(await data)).toBe('accepted');
  });

  it('are not sent to a server that does not offer CHUNKING or PIPELINING', async () => {
    for (const capabilities of [['PIPELINING'], ['CHUNKING']]) {
      const mx = await startScriptedMx({ capabilities });
      cleanups.push(() => mx.close());
      expect((await open(mx.host, mx.port)).maySendWhole(1)).toBe(false);
    }
  });

  it.each<[string, Script, string]>([
    ['a recipient', { rcpt: [GOOD_RCPT, GOOD_RCPT, '550 5.1.1 nobody', GOOD_RCPT] }, 'rcpt 550'],
    ['a sender', { mail: ['250 2.1.0 ok', '250 2.1.0 ok', '451 4.7.1 later', '250 2.1.0 ok'] }, 'mail 451'],
    ['a message', { bdat: [TAKEN, TAKEN, '554 5.7.1 spam', TAKEN] }, 'dot 554'],
  ])('that are refused harm nobody else: %s', async (_, script, refused) => {
    const { mx, session, faults } = await start(script);
    const results = await sendMany(session, 4);
    expect(results.map(short)).toEqual(['accepted', refused, 'accepted', 'accepted']);
    expect(mx.connections[0]?.messages).toHaveLength(5);
    expect(faults).toEqual([]);
    expect(short(await session.transact(message(9)))).toBe('accepted');
    expect(mx.connections[0]?.commands.filter((line) => line === 'RSET')).toHaveLength(5);
  });

  it('leave the session in order for DATA when the last of them was refused', async () => {
    const { mx, session } = await start({ bdat: [TAKEN, '452 4.3.1 full'] });
    await sendMany(session, 1);
    expect(short(await session.transact(message(2)))).toBe('accepted');
    expect(mx.connections[0]?.commands.filter((line) => line === 'RSET')).toHaveLength(3);
  });

  it('give each recipient of a message its own reply', async () => {
    const { session } = await start({ rcpt: [GOOD_RCPT, '550 5.1.1 nobody', GOOD_RCPT] });
    const result = await session.sendWhole({ ...message(1), recipients: ['a@mx.test', 'b@mx.test'] });
    if (result.kind !== 'done') throw new Error('lost');
    expect(result.recipients.map(({ stage, accepted }) => `${stage} ${accepted}`)).toEqual([
      'rcpt false',
      'dot true',
    ]);
  });

  it('are untried behind a 421, where the server ends the session', async () => {
    const { session, faults } = await start({
      rcpt: [GOOD_RCPT, GOOD_RCPT, { do: 'last', reply: '421 4.3.2 shutting down' }],
    });
    const results = await sendMany(session, 4);
    expect(results.map(short)).toEqual(['accepted', 'lost by 421', 'untried', 'untried']);
    expect(faults).toEqual([]);
    expect(session.state()).toBe('closed');
  });

  it('are answered behind a 421, where the server goes on', async () => {
    const { session } = await start({ rcpt: [GOOD_RCPT, GOOD_RCPT, '421 4.7.0 not now', GOOD_RCPT] });
    const results = await sendMany(session, 4);
    expect(results.map(short)).toEqual(['accepted', 'rcpt 421', 'accepted', 'accepted']);
  });

  it('are of unknown outcome behind a 421, where the server says nothing more and does not close', async () => {
    const clock = createVirtualClock();
    const { mx, session } = await start(
      { rcpt: [GOOD_RCPT, GOOD_RCPT, { do: 'half', bytes: '421 4.3.2 bye\r\n', next: { do: 'silence' } }] },
      { clock },
    );
    const sent = sendMany(session, 3);
    await expect.poll(() => mx.connections[0]?.messages.length).toBe(4);
    await expect.poll(() => session.inFlight()).toBe(2);
    // The 421 was read when its time began.
    await expect
      .poll(async () => {
        await clock.advance(1_000);
        return session.state();
      })
      .toBe('closed');
    expect(clock.monotonicMs()).toBeLessThan(60_000);
    expect((await sent).map(short)).toEqual(['accepted', 'lost by 421', 'unknown']);
  });

  it('may have arrived where the connection is lost, and only the first of them counts as tried', async () => {
    for (const how of ['close', 'reset'] as const) {
      const { session, faults } = await start({ bdat: [TAKEN, TAKEN, TAKEN, { do: how }] });
      const results = await sendMany(session, 6);
      expect(results.map(short)).toEqual([
        ...['accepted', 'accepted', 'unknown', 'unknown', 'unknown', 'unknown'],
      ]);
      expect(results.slice(2).map((one) => one.kind === 'lost' && one.untried)).toEqual([
        ...[false, true, true, true],
      ]);
      expect(faults).toEqual([]);
    }
  });

  it('may have arrived where we end the connection ourselves', async () => {
    const { session } = await start({ rset: ['250 2.0.0 ok', { do: 'silence' }] });
    const sent = sendMany(session, 2);
    session.destroy();
    expect((await sent).map(short)).toEqual(['unknown', 'unknown']);
  });

  it('are all answered before QUIT, and none is accepted after it', async () => {
    const { mx, session } = await start({});
    const sent = sendMany(session, 3);
    session.quit();
    expect(session.maySendWhole(16)).toBe(false);
    expect((await sent).map(short)).toEqual(['accepted', 'accepted', 'accepted']);
    await mx.connections[0]?.ended;
    expect(mx.connections[0]?.commands.at(-1)).toBe('QUIT');
  });

  it('are not sent when they are not to go any more', async () => {
    const { mx, session } = await start({});
    expect(short(await session.sendWhole({ ...message(1), begins: () => false }))).toBe('untried');
    expect(mx.connections[0]?.messages).toHaveLength(1);
    expect(session.state()).toBe('idle');
  });
});

describe('a server whose replies do not match the commands', () => {
  it('says too much: what is unanswered is unknown, and it gets no more', async () => {
    const twice = { do: 'raw', bytes: `${TAKEN}\r\n${TAKEN}\r\n` } as const;
    const { session, faults } = await start({ bdat: [TAKEN, TAKEN, twice] });
    const results = await sendMany(session, 4);
    expect(results.map(short)).toEqual(['accepted', 'accepted', 'unknown', 'unknown']);
    expect(faults).toEqual(['unexpected reply 250 to RSET']);
    expect(session.state()).toBe('closed');
  });

  it('says too much behind the last message', async () => {
    const twice = { do: 'raw', bytes: `${TAKEN}\r\n${TAKEN}\r\n` } as const;
    const { session, faults } = await start({ bdat: [TAKEN, twice] });
    expect((await sendMany(session, 1)).map(short)).toEqual(['accepted']);
    await expect.poll(() => session.state()).toBe('closed');
    expect(faults).toEqual(['a reply more than commands: 250']);
  });

  it.each<[string, Script]>([
    ['RSET', { rset: ['250 2.0.0 ok', '250 2.0.0 ok', { do: 'raw', bytes: '' }, '250 2.0.0 ok'] }],
    ['MAIL', { mail: ['250 2.1.0 ok', '250 2.1.0 ok', { do: 'raw', bytes: '250 ' }, '250 2.1.0 ok'] }],
    ['BDAT', { bdat: [TAKEN, TAKEN, { do: 'raw', bytes: '' }, TAKEN] }],
  ])('says too little, to %s', async (_, script) => {
    const { session, faults } = await start(script);
    const results = await sendMany(session, 4);
    expect(results.map(short)).toEqual(['accepted', 'unknown', 'unknown', 'unknown']);
    expect(faults).toHaveLength(1);
  });

  it('refuses the BDAT that it offers: the message is untried', async () => {
    const mx = await startScriptedMx({ capabilities: CHUNKING, bdat: '502 5.5.1 not implemented' });
    cleanups.push(() => mx.close());
    const session = await open(mx.host, mx.port);
    const faults: string[] = [];
    session.watch({ patienceMs: () => 60_000, slow() {}, outOfStep: (why) => void faults.push(why) });
    expect(short(await session.sendWhole(message(0)))).toBe('untried');
    expect(faults).toEqual(['it refuses the BDAT that it offers: 502 5.5.1 not implemented']);
    expect(session.state()).toBe('closed');
  });

  it('reads the octets of a refused message as commands', async () => {
    const { session, faults } = await start({
      rcpt: [GOOD_RCPT, GOOD_RCPT, '550 5.1.1 nobody', GOOD_RCPT],
      readsBdatAsCommands: true,
    });
    const results = await sendMany(session, 4);
    expect(results.map(short)).toEqual(['accepted', 'rcpt 550', 'unknown', 'unknown']);
    expect(faults).toEqual(['unexpected reply 502 to RSET']);
  });

  it('accepts a message with the words of another reply: nothing is sent behind it', async () => {
    const words = '250 2.0.0 ok';
    const { session, faults } = await start({ bdat: words, rset: words });
    expect(faults).toEqual(['its replies cannot be told apart']);
    const one = session.sendWhole(message(1));
    expect(session.maySendWhole(16)).toBe(false);
    expect(short(await one)).toBe('accepted');
  });
});

// One reply is missing, twice there, or followed by another one. Every refusal names its message, and so does every
// acceptance: whatever happens, no message gets the reply to another.
describe('one wrong reply among many', () => {
  const fates = fc.array(fc.constantFrom('taken', 'taken', 'mail', 'rcpt', 'content'), {
    minLength: 1,
    maxLength: 8,
  });
  type Fate = 'taken' | 'mail' | 'rcpt' | 'content';

  function repliesTo(n: number, fate: Fate): string[] {
    const refused = `550 5.7.1 not number${n}`;
    const rest = '503 5.5.1 bad sequence';
    if (fate === 'mail') return ['250 2.0.0 ok', refused, rest, rest];
    if (fate === 'rcpt') return ['250 2.0.0 ok', '250 2.1.0 ok', refused, rest];
    const end = fate === 'taken' ? `250 2.0.0 ok: queued as number${n}` : refused;
    return ['250 2.0.0 ok', '250 2.1.0 ok', '250 2.1.5 ok', end];
  }

  /** Says the greeting and the replies to EHLO and the first message when asked, then all of `replies` at once. */
  function server(replies: readonly string[]): Duplex {
    let asked = 0;
    const socket: Duplex = new Duplex({
      read() {},
      write(chunk: Buffer, _encoding, done) {
        done();
        const text = chunk.toString('latin1');
        const say = (lines: readonly string[]) =>
          setImmediate(() => socket.push(`${lines.join('\r\n')}\r\n`));
        if (text.startsWith('EHLO')) say(['250-mx.test', '250-PIPELINING', '250 CHUNKING']);
        if (!text.includes('BDAT')) return;
        asked += text.split('BDAT').length - 1;
        if (asked === 1) say(repliesTo(0, 'taken'));
        else if (asked === 2) say(replies);
      },
      writev(chunks, done) {
        socket._write(Buffer.concat(chunks.map(({ chunk }) => chunk as Buffer)), 'utf8', done);
      },
    });
    socket.push('220 mx.test\r\n');
    return socket;
  }

  it('is never charged to another message', async () => {
    const fault = fc.constantFrom('none', 'missing', 'twice', 'one more');
    await fc.assert(
      fc.asyncProperty(fates, fault, fc.nat(), async (fateOf, how, at) => {
        const replies = fateOf.flatMap((fate, i) => repliesTo(i + 1, fate as Fate));
        const where = at % replies.length;
        if (how === 'missing') replies.splice(where, 1);
        if (how === 'twice') replies.splice(where, 0, replies[where] as string);
        // As where octets of a message are read as a command.
        if (how === 'one more') replies.splice(where - (where % 4), 0, '500 5.5.2 what?');
        const socket = server(replies);
        const session = await open('192.0.2.1', 25, { connect: async () => ({ kind: 'connected', socket }) });
        await session.sendWhole(message(0));
        const sent = fateOf.map((_, i) => session.sendWhole(message(i + 1)));
        for (let n = 0; n < 10 && session.inFlight() > 0; n++) await new Promise((go) => setImmediate(go));
        session.destroy();
        for (const [i, result] of (await Promise.all(sent)).entries()) {
          if (result.kind !== 'done') {
            expect(short(result)).toBe('unknown');
            continue;
          }
          const [one] = result.recipients;
          expect(one?.accepted).toBe(fateOf[i] === 'taken');
          expect(one?.reply.text.split(' ')).toContain(`number${i + 1}`);
        }
      }),
      { numRuns: 1_000 },
    );
  });
});

describe('a server that is not known to discard what it refuses', () => {
  async function first(script: Script) {
    const mx = await startScriptedMx({ capabilities: CHUNKING, ...script });
    cleanups.push(() => mx.close());
    const session = await open(mx.host, mx.port);
    const faults: string[] = [];
    let isProven = false;
    session.watch({
      patienceMs: () => 60_000,
      slow() {},
      outOfStep: (why) => void faults.push(why),
      discardsRefused: () => isProven,
      showedDiscard() {
        isProven = true;
      },
    });
    const result = short(await session.sendWhole(message(0)));
    return { mx, session, faults, result, isProven: () => isProven };
  }

  it('shows it once, before it gets a message', async () => {
    const { mx, session, faults, result, isProven } = await first({});
    expect([result, faults, isProven()]).toEqual(['accepted', [], true]);
    expect(short(await session.sendWhole(message(1)))).toBe('accepted');
    const [wire] = mx.connections;
    const whole = (n: number) => [
      'RSET',
      expect.stringContaining(`from${n}@`),
      `RCPT TO:<to${n}@mx.test>`,
      `BDAT ${message(n).size} LAST`,
    ];
    expect(wire?.commands.slice(1)).toEqual(['RSET', 'BDAT 10 LAST', 'RSET', ...whole(0), ...whole(1)]);
    expect(wire?.messages).toHaveLength(2);
  });

  it.each<[string, Script]>([
    ['reads the octets as a command', { readsBdatAsCommands: true }],
    ['takes a message without a recipient', { bdat: TAKEN }],
    ['ends the connection', { bdat: { do: 'last', reply: '503 5.5.1 RCPT first' } }],
    ['ends the session', { bdat: { do: 'last', reply: '421 4.7.0 too many errors' } }],
    ['drops the connection', { bdat: { do: 'reset' } }],
  ])('gets nothing by BDAT where it %s', async (_, script) => {
    const { mx, faults, result, isProven } = await first(script);
    expect(result).toBe('untried');
    expect(faults).toHaveLength(1);
    expect(isProven()).toBe(false);
    expect(mx.connections[0]?.bytes.toString('latin1')).not.toContain('Subject: number 0');
  });
});
