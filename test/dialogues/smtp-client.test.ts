import { Duplex } from 'node:stream';
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { afterInput } from '../../src/lib/turns.ts';
import { createVirtualClock, type VirtualClock } from '../../src/lib/virtual-clock.ts';
import { openSession } from '../../src/smtp/client-session.ts';
import { createTlsContexts } from '../../src/smtp/client-tls.ts';
import type {
  OpenFailure,
  OpenOptions,
  Session,
  Transaction,
  TransactionResult,
} from '../../src/smtp/client-types.ts';
import { makeCertificates } from '../fakes/certificates.ts';
import { type Script, type ScriptedMx, startScriptedMx } from '../fakes/scripted-mx.ts';
import { startSmtpSink } from '../fakes/smtp-sink.ts';

// Every rule of the client's side of SMTP, against servers that play their part badly, over real sockets.

const certificates = makeCertificates('mx.test');
if (certificates === null) process.stderr.write('no openssl command: TLS dialogues are skipped\n');
const tlsIt = it.skipIf(certificates === null);
const pairs = certificates ?? { ca: '', good: null, expired: null, wrongName: null, selfSigned: null };
const tlsContexts = createTlsContexts({ ca: pairs.ca === '' ? undefined : pairs.ca });

const cleanups: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Lets the event loop turn until `condition` holds. */
async function until(condition: () => boolean): Promise<void> {
  const end = performance.now() + 10_000;
  while (!condition()) {
    if (performance.now() > end) throw new Error('waited in vain');
    await turn();
  }
}

async function serve(script: Script | readonly Script[]): Promise<ScriptedMx> {
  const mx = await startScriptedMx(script);
  cleanups.push(() => mx.close());
  return mx;
}

function tryOpen(
  mx: { host: string; port: number },
  options: Partial<OpenOptions> = {},
  implicitTls = false,
) {
  return openSession(
    { host: 'mx.test', address: mx.host, port: mx.port, implicitTls },
    { clock: systemClock, heloName: 'client.test', tls: 'off', tlsContexts, ...options },
  );
}

async function open(
  mx: { host: string; port: number },
  options: Partial<OpenOptions> = {},
): Promise<Session> {
  const result = await tryOpen(mx, options);
  if (result.kind !== 'open') throw new Error(`not open: ${result.stage} ${result.detail}`);
  cleanups.push(() => result.session.destroy());
  return result.session;
}

async function failOpen(
  script: Script,
  options: Partial<OpenOptions> = {},
  implicitTls = false,
): Promise<OpenFailure & { mx: ScriptedMx }> {
  const mx = await serve(script);
  const result = await tryOpen(mx, options, implicitTls);
  if (result.kind !== 'failed') {
    result.session.destroy();
    throw new Error('it opened');
  }
  // Whatever failed, no connection is left behind.
  await Promise.all(mx.connections.map((connection) => connection.ended));
  return { ...result, mx };
}

async function start(script: Script, options: Partial<OpenOptions> = {}) {
  const mx = await serve(script);
  const session = await open(mx, options);
  const wire = mx.connections[0]!;
  return { mx, session, wire };
}

const SMALL = Buffer.from('Subject: hello\r\n\r\nHello.\r\n');

function message(change: Partial<Transaction> = {}): Transaction {
  const data = change.data ?? [SMALL];
  return {
    mailFrom: 'from@client.test',
    recipients: ['to@mx.test'],
    data,
    size: data.reduce((sum, chunk) => sum + chunk.length, 0),
    smtpUtf8: false,
    eightBit: false,
    ...change,
  };
}

function done(result: TransactionResult) {
  if (result.kind !== 'done') throw new Error(`not done: ${JSON.stringify(result)}`);
  return result;
}

function lost(result: TransactionResult) {
  if (result.kind !== 'lost') throw new Error(`not lost: ${JSON.stringify(result)}`);
  return result;
}

const verdicts = (result: TransactionResult) =>
  done(result).recipients.map((r) => `${r.stage} ${r.reply.code} ${r.accepted}`);

describe('opening a session', () => {
  it('reports a closed port as refused, at the connect stage', async () => {
    const mx = await startScriptedMx();
    await mx.close();
    expect(await tryOpen(mx)).toMatchObject({
      kind: 'failed',
      stage: 'connect',
      reason: 'refused',
      reply: null,
    });
  });

  it('takes a multi-line greeting and reads what the server offers', async () => {
    const { session } = await start({
      banner: '220-mx.test\n220-we log everything\n220 go',
      capabilities: ['pipelining', 'SIZE 1000', 'X-ODD', 'AUTH=LOGIN PLAIN', 'SMTPUTF8', '8bitmime', 'DSN'],
    });
    expect(session.capabilities).toEqual({
      esmtp: true,
      pipelining: true,
      chunking: false,
      sizeOffered: true,
      maxSize: 1000,
      eightBitMime: true,
      smtpUtf8: true,
      startTls: false,
      dsn: true,
      auth: ['LOGIN', 'PLAIN'],
    });
    expect(session.state()).toBe('idle');
    expect(session.conversation.text()).toContain('S: 220-we log everything');
  });

  it('reports a 554 greeting with its reply', async () => {
    const failed = await failOpen({ banner: '554 5.7.1 your address is listed' });
    expect(failed).toMatchObject({
      stage: 'banner',
      reason: 'reply',
      reply: { code: 554, enhanced: '5.7.1' },
    });
  });

  it.each([
    ['a refused greeting', { banner: '554 5.7.1 not from you' }],
    ['a refused EHLO and HELO', { ehlo: '550 no', helo: '550 no' }],
    ['a missing STARTTLS', {}],
  ])('takes leave after %s', async (_what, script) => {
    const mx = await serve(script);
    expect(await tryOpen(mx, { tls: 'required' })).toMatchObject({ kind: 'failed' });
    await expect.poll(() => mx.connections[0]?.commands.at(-1)).toBe('QUIT');
  });

  it.each([
    ['HTTP/1.1 400 Bad Request', 'protocol'],
    ['354 what', 'protocol'],
    ['999 what', 'protocol'],
    ['421 4.3.2 later', 'reply'],
  ])('reports the greeting %s as %s', async (banner, reason) => {
    expect(await failOpen({ banner })).toMatchObject({ stage: 'banner', reason });
  });

  it('gives up on a server that babbles instead of greeting, within bounds', async () => {
    const failed = await failOpen({ banner: { do: 'babble', bytes: 'x'.repeat(10_000) } });
    expect(failed).toMatchObject({ stage: 'banner', reason: 'protocol' });
  });

  it('gives up on a server that floods it with greetings', async () => {
    const failed = await failOpen({ banner: { do: 'babble', bytes: '220 hello\r\n'.repeat(1000) } });
    expect(failed).toMatchObject({ reason: 'protocol' });
  });

  it.each(['close', 'reset', 'half-close'] as const)('reports a %s before the greeting', async (what) => {
    const failed = await failOpen({ banner: { do: what } });
    expect(failed.reason).toBe('reset');
    // A reset may overtake the news that the connection stands.
    expect(['banner', 'connect']).toContain(failed.stage);
  });

  it('waits 60 s for the greeting, and a dripped one gains nothing', async () => {
    const clock = createVirtualClock();
    const mx = await serve({ banner: { do: 'half', bytes: '220 hel', next: { do: 'silence' } } });
    const opening = tryOpen(mx, { clock });
    await until(() => mx.connections.length === 1 && clock.pendingTimers() === 1);
    await clock.advance(59_000);
    expect(mx.connections).toHaveLength(1);
    await clock.advance(1_001);
    expect(await opening).toMatchObject({ stage: 'banner', reason: 'timeout' });
    expect(clock.pendingTimers()).toBe(0);
  });

  it('reads a greeting that comes octet by octet', async () => {
    const { session } = await start({ banner: { do: 'drip', reply: '220-slow\n220 server' } });
    expect(session.state()).toBe('idle');
  });

  it('says HELO to a server that does not know EHLO, and uses no extension then', async () => {
    const { session, wire } = await start({ ehlo: '502 5.5.1 what' });
    expect(session.capabilities.esmtp).toBe(false);
    expect(verdicts(await session.transact(message()))).toEqual(['dot 250 true']);
    expect(wire.commands).toEqual([
      'EHLO client.test',
      'HELO client.test',
      'MAIL FROM:<from@client.test>',
      'RCPT TO:<to@mx.test>',
      'DATA',
    ]);
    expect(wire.reads.slice(-3)).toEqual(['RCPT TO:<to@mx.test>\r\n', 'DATA\r\n', `${SMALL}.\r\n`]);
  });

  it('reports a 4xx to EHLO, and a 5xx to HELO, with the reply', async () => {
    expect(await failOpen({ ehlo: '451 later' })).toMatchObject({ stage: 'ehlo', reply: { code: 451 } });
    const failed = await failOpen({ ehlo: '500 no', helo: '554 never' });
    expect(failed).toMatchObject({ stage: 'ehlo', reason: 'reply', reply: { code: 554 } });
  });

  it('refuses a name of its own that would hide another command', async () => {
    const failed = await failOpen({}, { heloName: 'x\r\nMAIL FROM:<a@b>' });
    expect(failed).toMatchObject({ stage: 'ehlo', reason: 'protocol' });
    expect(failed.mx.connections[0]?.commands).toEqual([]);
  });

  it('refuses a server that answers more than it was asked', async () => {
    const failed = await failOpen({ banner: { do: 'raw', bytes: '220 hi\r\n250 and more\r\n' } });
    expect(failed).toMatchObject({ reason: 'protocol' });
  });

  it('refuses it also where the second reply comes by itself, before the next question', async () => {
    /** Answers EHLO twice, the second time as soon as the first answer was taken. */
    class Twice extends Duplex {
      override _read(): void {}
      override _write(chunk: Buffer, _: BufferEncoding, done: () => void): void {
        if (chunk.toString('latin1', 0, 4) === 'EHLO')
          setImmediate(() => {
            this.push('250 mx.test\r\n');
            this.push('250 mx.test, as I said\r\n');
          });
        done();
      }
    }
    const socket = new Twice();
    socket.push('220 mx.test\r\n');
    const connect = () => Promise.resolve({ kind: 'connected', socket } as const);
    const result = await tryOpen({ host: '192.0.2.1', port: 25 }, { connect });
    expect(result).toMatchObject({ kind: 'failed', reason: 'protocol' });
  });

  it('ends when it is aborted', async () => {
    const abort = new AbortController();
    const mx = await serve({ banner: { do: 'silence' } });
    const opening = tryOpen(mx, { signal: abort.signal });
    await until(() => mx.connections.length === 1);
    abort.abort();
    expect(await opening).toMatchObject({ kind: 'failed', reason: 'aborted' });
    expect(await tryOpen(mx, { signal: abort.signal })).toMatchObject({
      stage: 'connect',
      reason: 'aborted',
    });
  });
});

describe('TLS', () => {
  const offering = ['PIPELINING', 'STARTTLS', 'X-PLAIN'];

  tlsIt('verifies a good certificate, and forgets what was offered before TLS', async () => {
    const { session, wire } = await start(
      {
        capabilities: offering,
        starttls: { do: 'tls', pair: pairs.good! },
        ehlo: ['250-mx.test\n250-STARTTLS\n250 DSN', '250-mx.test\n250 SIZE 77'],
      },
      { tls: 'verified' },
    );
    expect(session.tls).toMatchObject({ authorized: true, authorizationError: null, subject: 'mx.test' });
    expect(session.tls?.protocol).toBe('TLSv1.3');
    expect(session.capabilities).toMatchObject({ dsn: false, maxSize: 77, startTls: false });
    expect(wire.commands).toEqual(['EHLO client.test', 'STARTTLS', 'EHLO client.test']);
    expect(done(await session.transact(message())).tls?.authorized).toBe(true);
    expect(wire.messages[0]?.toString()).toBe(SMALL.toString());
  });

  const bad = [
    ['selfSigned', 'DEPTH_ZERO_SELF_SIGNED_CERT'],
    ['expired', 'CERT_HAS_EXPIRED'],
    ['wrongName', 'ERR_TLS_CERT_ALTNAME_INVALID'],
  ] as const;

  tlsIt.each(bad)(
    'delivers to a %s certificate opportunistically and says why it is not verified',
    async (which, code) => {
      for (const tls of ['opportunistic', 'required'] as const) {
        const script: Script = { capabilities: offering, starttls: { do: 'tls', pair: pairs[which]! } };
        const { session, wire } = await start(script, { tls });
        expect(session.tls).toMatchObject({ authorized: false, authorizationError: code });
        expect(verdicts(await session.transact(message()))).toEqual(['dot 250 true']);
        expect(wire.usedTls).toBe(true);
      }
    },
  );

  tlsIt.each(bad)(
    'refuses a %s certificate where it must be verified, before saying anything',
    async (which, code) => {
      const script: Script = { capabilities: offering, starttls: { do: 'tls', pair: pairs[which]! } };
      const failed = await failOpen(script, { tls: 'verified' });
      expect(failed).toMatchObject({ stage: 'tls', reason: 'tls', tls: { authorizationError: code } });
      expect(failed.mx.connections[0]?.commands).toEqual(['EHLO client.test', 'STARTTLS']);
    },
  );

  tlsIt('refuses plaintext injected behind the STARTTLS reply', async () => {
    const injected = '250-mx.test\r\n250 AUTH PLAIN\r\n';
    const script: Script = {
      capabilities: offering,
      starttls: { do: 'tls-inject', bytes: injected, pair: pairs.good! },
    };
    for (const tls of ['opportunistic', 'verified'] as const) {
      expect(await failOpen(script, { tls })).toMatchObject({ stage: 'starttls', reason: 'injection' });
    }
  });

  it.each(['stay', 'close'] as const)('reports a handshake that is garbage (%s)', async (next) => {
    const script: Script = {
      capabilities: offering,
      starttls: { do: 'fake-tls', bytes: '220 not TLS at all\r\n', next },
    };
    expect(await failOpen(script, { tls: 'opportunistic' })).toMatchObject({ stage: 'tls', reason: 'tls' });
  });

  it('waits 30 s for a handshake', async () => {
    const clock = createVirtualClock();
    const mx = await serve({ capabilities: offering, starttls: { do: 'fake-tls', bytes: '', next: 'stay' } });
    const opening = tryOpen(mx, { clock, tls: 'opportunistic' });
    await until(() => (mx.connections[0]?.commands.length ?? 0) === 2);
    for (let i = 0; i < 20; i += 1) await turn();
    await clock.advance(30_001);
    expect(await opening).toMatchObject({ stage: 'tls', reason: 'timeout' });
    expect(clock.pendingTimers()).toBe(0);
  });

  it('never goes on in clear where TLS is asked for and not offered, or refused', async () => {
    for (const tls of ['required', 'verified'] as const) {
      const absent = await failOpen({ capabilities: ['PIPELINING'] }, { tls });
      expect(absent).toMatchObject({ stage: 'starttls', reason: 'tls' });
      const refused = await failOpen({ capabilities: offering, starttls: '454 4.7.0 not now' }, { tls });
      expect(refused).toMatchObject({ stage: 'starttls', reason: 'reply', reply: { code: 454 } });
    }
  });

  it('goes on in clear, opportunistically, where STARTTLS is not offered or refused', async () => {
    for (const capabilities of [['PIPELINING'], offering]) {
      const { session } = await start(
        { capabilities, starttls: '454 4.7.0 not now' },
        { tls: 'opportunistic' },
      );
      expect(session.tls).toBeNull();
      expect(verdicts(await session.transact(message()))).toEqual(['dot 250 true']);
    }
  });

  tlsIt('speaks TLS from the first byte, and can send a small ClientHello', async () => {
    const mx = await serve({ implicitTls: pairs.good! });
    const result = await tryOpen(mx, { tls: 'verified', smallClientHello: true }, true);
    if (result.kind !== 'open') throw new Error(result.detail);
    cleanups.push(() => result.session.destroy());
    expect(result.session.tls?.authorized).toBe(true);
    expect(verdicts(await result.session.transact(message()))).toEqual(['dot 250 true']);
    const plain = await failOpen({ banner: '220 clear text' }, { tls: 'verified' }, true);
    expect(plain).toMatchObject({ stage: 'tls', reason: 'tls' });
  });

  tlsIt('sends a large message over TLS unharmed', async () => {
    const sink = await startSmtpSink({ tls: pairs.good! });
    cleanups.push(() => sink.close());
    const session = await open(sink, { tls: 'verified' });
    const data = [Buffer.from('A: b\r\n\r\n'), Buffer.alloc(3_000_000, '.line of text\r\n')];
    expect(verdicts(await session.transact(message({ data })))).toEqual(['dot 250 true']);
    expect(sink.messages[0]?.data.equals(Buffer.concat(data))).toBe(true);
  });
});

describe('AUTH', () => {
  const auth = { user: 'me@client.test', pass: 'sesame ✓' };
  const secrets = [
    auth.pass,
    Buffer.from(auth.pass).toString('base64'),
    Buffer.from(`\0${auth.user}\0${auth.pass}`).toString('base64'),
  ];

  it('logs in with PLAIN or LOGIN, and keeps the secret out of the log', async () => {
    for (const [capabilities, commands] of [
      [['AUTH LOGIN PLAIN'], ['AUTH PLAIN ']],
      [['AUTH LOGIN'], ['AUTH LOGIN', Buffer.from(auth.user).toString('base64'), secrets[1]]],
    ] as const) {
      const script: Script = { capabilities };
      if (capabilities[0] === 'AUTH LOGIN') script.auth = ['334 VXNlcm5hbWU6', '334 UGFzc3dvcmQ6', '235 ok'];
      const { session, wire } = await start(script, { auth, allowPlaintextAuth: true });
      expect(wire.commands.slice(1).map((line, i) => line.startsWith(commands[i] ?? '?'))).not.toContain(
        false,
      );
      for (const secret of secrets) expect(session.conversation.text()).not.toContain(secret);
    }
  });

  it('works against a server that checks', async () => {
    const sink = await startSmtpSink({ auth });
    cleanups.push(() => sink.close());
    const session = await open(sink, { auth, allowPlaintextAuth: true });
    expect(verdicts(await session.transact(message()))).toEqual(['dot 250 true']);
    const wrong = await tryOpen(sink, { auth: { ...auth, pass: 'no' }, allowPlaintextAuth: true });
    expect(wrong).toMatchObject({ stage: 'auth', reason: 'reply', reply: { code: 535, enhanced: '5.7.8' } });
  });

  tlsIt('never sends a password in clear or to an unverified certificate', async () => {
    const clear = await failOpen({ capabilities: ['AUTH PLAIN'] }, { auth });
    expect(clear).toMatchObject({ stage: 'auth', reason: 'auth' });
    expect(clear.mx.connections[0]?.commands).toEqual(['EHLO client.test', 'QUIT']);
    const script: Script = {
      capabilities: ['STARTTLS', 'AUTH PLAIN'],
      starttls: { do: 'tls', pair: pairs.selfSigned! },
    };
    const unverified = await failOpen(script, { auth, tls: 'required' });
    expect(unverified).toMatchObject({ stage: 'auth', reason: 'auth' });
    const good: Script = { ...script, starttls: { do: 'tls', pair: pairs.good! } };
    expect((await start(good, { auth, tls: 'verified' })).session.state()).toBe('idle');
  });

  it('says so when there is no mechanism in common, or the server hangs up', async () => {
    const options = { auth, allowPlaintextAuth: true };
    const none = await failOpen({ capabilities: ['AUTH CRAM-MD5'] }, options);
    expect(none).toMatchObject({ stage: 'auth', reason: 'auth', reply: null });
    const gone = await failOpen({ capabilities: ['AUTH PLAIN'], auth: { do: 'close' } }, options);
    expect(gone).toMatchObject({ stage: 'auth', reason: 'reset' });
  });
});

describe('one transaction', () => {
  it('sends MAIL, RCPT and DATA in one write where PIPELINING is offered', async () => {
    const { session, wire } = await start({});
    const result = done(await session.transact(message()));
    expect(wire.reads.slice(1)).toEqual([
      `MAIL FROM:<from@client.test> SIZE=${SMALL.length}\r\nRCPT TO:<to@mx.test>\r\nDATA\r\n`,
      `${SMALL}.\r\n`,
    ]);
    expect(result.recipients).toEqual([
      {
        stage: 'dot',
        accepted: true,
        reply: { code: 250, enhanced: '2.0.0', lines: ['2.0.0 kept'], text: '2.0.0 kept' },
      },
    ]);
    expect(result.dot?.code).toBe(250);
    expect(result.latencyMs).toBeGreaterThan(0);
    expect(session.delivered()).toBe(1);
    const said = result.conversation.text().replaceAll(/^\d+ /gm, '');
    expect(said.split('\n')).toEqual([
      `C: MAIL FROM:<from@client.test> SIZE=${SMALL.length}`,
      'C: RCPT TO:<to@mx.test>',
      'C: DATA',
      'S: 250 2.0.0 ok',
      'S: 250 2.0.0 ok',
      'S: 354 go ahead',
      `C: (${SMALL.length} octets of message)`,
      'S: 250 2.0.0 kept',
    ]);
  });

  it('sends one command at a time where it is not offered', async () => {
    const { session, wire } = await start({ capabilities: ['SIZE'] });
    const both = [
      session.transact(message()),
      session.transact(message({ recipients: ['a@mx.test', 'b@mx.test'] })),
    ];
    for (const result of await Promise.all(both)) expect(done(result).dot?.code).toBe(250);
    const mail = `MAIL FROM:<from@client.test> SIZE=${SMALL.length}\r\n`;
    expect(wire.reads.slice(1)).toEqual([
      mail,
      'RCPT TO:<to@mx.test>\r\n',
      'DATA\r\n',
      `${SMALL}.\r\n`,
      mail,
      'RCPT TO:<a@mx.test>\r\n',
      'RCPT TO:<b@mx.test>\r\n',
      'DATA\r\n',
      `${SMALL}.\r\n`,
    ]);
  });

  it('waits for all RCPT replies before DATA when there are several', async () => {
    const { session, wire } = await start({
      rcpt: ['250 ok', '550 5.1.1 no', '451 4.2.0 later', '251 moved'],
    });
    const recipients = ['a@mx.test', 'b@mx.test', 'c@mx.test', 'd@mx.test'];
    const result = await session.transact(message({ recipients }));
    expect(verdicts(result)).toEqual(['dot 250 true', 'rcpt 550 false', 'rcpt 451 false', 'dot 250 true']);
    expect(wire.reads.slice(2)).toEqual(['DATA\r\n', `${SMALL}.\r\n`]);
  });

  it.each(['251 will forward', '252 cannot verify'])('sends DATA after %s', async (rcpt) => {
    for (const capabilities of [['PIPELINING'], []]) {
      const { session } = await start({ rcpt, capabilities });
      expect(verdicts(await session.transact(message()))).toEqual(['dot 250 true']);
    }
  });

  it('gives each recipient its own refusal, and the reply to DATA or the dot to the accepted ones', async () => {
    const recipients = ['a@mx.test', 'b@mx.test', 'c@mx.test'];
    const rcpt = ['550 5.1.1 no', '250 ok', '250 ok'];
    for (const [step, stage] of [
      ['data', 'data'],
      ['dot', 'dot'],
    ] as const) {
      const { session } = await start({ rcpt, [step]: '554 5.7.1 spam' });
      const result = await session.transact(message({ recipients }));
      expect(verdicts(result)).toEqual(['rcpt 550 false', `${stage} 554 false`, `${stage} 554 false`]);
      expect(session.delivered()).toBe(0);
    }
  });

  it('asks for no DATA when every recipient is refused', async () => {
    const { session, wire } = await start({ rcpt: '550 no' });
    const result = await session.transact(message({ recipients: ['a@mx.test', 'b@mx.test'] }));
    expect(verdicts(result)).toEqual(['rcpt 550 false', 'rcpt 550 false']);
    expect(done(result).dot).toBeNull();
    expect(wire.commands).not.toContain('DATA');
  });

  it('sends a lone dot when pipelined DATA is answered 354 though nobody was accepted', async () => {
    for (const dot of ['250 queued anyway', '554 no valid recipients']) {
      const { session, wire } = await start({ rcpt: ['550 5.1.1 no', '250 ok'], dot: [dot, '250 kept'] });
      expect(verdicts(await session.transact(message()))).toEqual(['rcpt 550 false']);
      expect(wire.messages.map(String)).toEqual(['']);
      expect(session.delivered()).toBe(0);
      expect(verdicts(await session.transact(message()))).toEqual(['dot 250 true']);
    }
  });

  it('reports a refused MAIL once, whatever its echoes say', async () => {
    for (const [rcpt, data] of [
      ['503 MAIL first', '503 RCPT first'],
      ['250 ok', '354 go'],
      ['550 no', '354 go'],
    ] as const) {
      const { session } = await start({
        mail: ['550 5.7.1 not you', '250 ok'],
        rcpt: [rcpt, '250 ok'],
        data: [data, '354 go'],
      });
      expect(verdicts(await session.transact(message()))).toEqual(['mail 550 false']);
      expect(verdicts(await session.transact(message()))).toEqual(['dot 250 true']);
    }
    const { session, wire } = await start({ mail: '452 4.3.1 full', capabilities: [] });
    expect(verdicts(await session.transact(message()))).toEqual(['mail 452 false']);
    expect(wire.commands.filter((line) => line.startsWith('RCPT'))).toEqual([]);
  });

  it('resets after a failed transaction and never after a success', async () => {
    const { session, wire } = await start({
      rcpt: ['250 ok', '550 no', '250 ok'],
      data: ['354 go', '503 no', '354 go'],
    });
    for (const verdict of ['dot 250 true', 'rcpt 550 false', 'dot 250 true', 'dot 250 true']) {
      expect(verdicts(await session.transact(message()))).toEqual([verdict]);
    }
    const verbs = wire.commands.map((line) => line.split(' ')[0]);
    const envelope = ['MAIL', 'RCPT', 'DATA'];
    expect(verbs).toEqual(['EHLO', ...envelope, ...envelope, 'RSET', ...envelope, ...envelope]);
  });

  it('says SIZE whenever it is offered, and sends nothing that is larger', async () => {
    const { session, wire } = await start({ capabilities: ['SIZE 100'] });
    const big = message({ data: [Buffer.alloc(101, 'a')] });
    expect(await session.transact(big)).toEqual({ kind: 'not-sendable', why: 'too-large', limit: 100 });
    expect(wire.commands).toEqual(['EHLO client.test']);
    expect(verdicts(await session.transact(message()))).toEqual(['dot 250 true']);
    for (const size of ['SIZE 0', 'SIZE', 'SIZE many']) {
      const unlimited = await start({ capabilities: [size] });
      expect(verdicts(await unlimited.session.transact(big))).toEqual(['dot 250 true']);
      expect(unlimited.wire.commands[1]).toBe('MAIL FROM:<from@client.test> SIZE=101');
    }
  });

  it('says BODY, SMTPUTF8 and the DSN parameters only where needed and offered', async () => {
    const tx = message({
      mailFrom: '',
      smtpUtf8: true,
      eightBit: true,
      dsn: { envid: 'a+b=c' },
      recipients: ['é@mx.test'],
    });
    const full = await start({ capabilities: ['8BITMIME', 'SMTPUTF8', 'DSN'] });
    expect(verdicts(await full.session.transact(tx))).toEqual(['dot 250 true']);
    await full.session.transact(message({ dsn: { envid: 'a+b=c' }, recipients: ['a=b@mx.test'] }));
    await full.session.transact(
      message({ dsn: { notify: ['NEVER'], ret: 'FULL', orcpt: 'rfc822;first@mx.test', envid: 'é' } }),
    );
    await full.session.transact(message());
    expect(full.wire.commands.filter((line) => /MAIL|RCPT/.test(line))).toEqual([
      'MAIL FROM:<> BODY=8BITMIME SMTPUTF8',
      'RCPT TO:<é@mx.test> NOTIFY=NEVER',
      'MAIL FROM:<from@client.test> RET=HDRS ENVID=a+2Bb+3Dc',
      'RCPT TO:<a=b@mx.test> NOTIFY=FAILURE,DELAY ORCPT=rfc822;a+3Db@mx.test',
      'MAIL FROM:<from@client.test> RET=FULL',
      'RCPT TO:<to@mx.test> NOTIFY=NEVER ORCPT=rfc822;first@mx.test',
      'MAIL FROM:<from@client.test>',
      'RCPT TO:<to@mx.test>',
    ]);
    const poor = await start({ capabilities: [] });
    expect(await poor.session.transact(tx)).toMatchObject({ why: 'smtputf8-unsupported' });
    const plain = message({ eightBit: true });
    expect(await poor.session.transact(plain)).toMatchObject({ why: 'eight-bit-unsupported' });
    await poor.session.transact(message({ dsn: {} }));
    expect(poor.wire.commands.slice(1, 3)).toEqual(['MAIL FROM:<from@client.test>', 'RCPT TO:<to@mx.test>']);
  });

  it.each(['\r\nRSET', '\n', '\r', '\0', '> SIZE=1', ' ', '<', 'é', '"'])(
    'sends no address that holds %j',
    async (evil) => {
      const { session, wire } = await start({});
      for (const tx of [
        message({ mailFrom: `a${evil}@b.test` }),
        message({ recipients: ['ok@mx.test', `a@b${evil}`] }),
      ]) {
        expect(await session.transact(tx)).toEqual({ kind: 'not-sendable', why: 'unsafe-command' });
      }
      expect(wire.commands).toEqual(['EHLO client.test']);
      expect(session.hasRoom()).toBe(true);
    },
  );

  it('understands replies in every odd shape', async () => {
    const { session } = await start({
      mail: { do: 'raw', bytes: '250\n' },
      rcpt: { do: 'raw', bytes: '250-5.1.1 first\n550-and\r\n250\r\n' },
      dot: { do: 'raw', bytes: Buffer.from('451-4.7.1 gr\xfcnlisted\r\n250-\r\n550 \r\n', 'latin1') },
    });
    const result = done(await session.transact(message()));
    expect(result.recipients[0]).toEqual({
      stage: 'dot',
      accepted: false,
      reply: {
        code: 550,
        enhanced: '4.7.1',
        lines: ['4.7.1 grünlisted', '', ''],
        text: '4.7.1 grünlisted  ',
      },
    });
  });

  it('reads replies that come octet by octet', async () => {
    const drip = (reply: string) => ({ do: 'drip' as const, reply });
    const { session } = await start({
      mail: drip('250-a\n250 b'),
      data: drip('354 go'),
      dot: drip('250 2.0.0 kept'),
    });
    expect(verdicts(await session.transact(message()))).toEqual(['dot 250 true']);
  });
});

describe('message bytes', () => {
  it('doubles dots, also across chunks, and ends the data in CRLF', async () => {
    const { session, wire } = await start({});
    for (const [chunks, expected] of [
      [['.a\r\n..\r\n', '.b\r', '\n.', 'c\r\n'], '..a\r\n...\r\n..b\r\n..c\r\n'],
      [['a\r\n', '.'], 'a\r\n..\r\n'],
      [['a'], 'a\r\n'],
      [['a\r'], 'a\r\n'],
      [[], ''],
    ] as const) {
      const data = chunks.map((chunk) => Buffer.from(chunk));
      expect(verdicts(await session.transact(message({ data })))).toEqual(['dot 250 true']);
      expect(wire.messages.at(-1)?.toString()).toBe(expected);
    }
  });

  it('sends a large message in slices without buffering it whole, and it arrives unharmed', async () => {
    const sink = await startSmtpSink();
    cleanups.push(() => sink.close());
    const session = await open(sink);
    const lines = Buffer.alloc(5_000_016, '.0123456789abcd\r\n');
    const data = [
      Buffer.from('A: b\r\n\r\n'),
      lines.subarray(0, 70_001),
      lines.subarray(70_001, 70_017),
      lines.subarray(70_017),
    ];
    const results = [session.transact(message({ data })), session.transact(message())];
    for (const result of await Promise.all(results)) expect(verdicts(result)).toEqual(['dot 250 true']);
    const kept = sink.messages[0]!.data;
    const sent = Buffer.concat(data);
    expect(kept.subarray(0, sent.length).equals(sent)).toBe(true);
    expect(sink.messages[1]?.data.toString()).toBe(SMALL.toString());
  });

  it('keeps at most a slice in memory while the server does not read, and gives up after 180 s', async () => {
    const clock = createVirtualClock();
    const { session } = await start({ deafFrom: 'data' }, { clock });
    const data = [Buffer.alloc(64_000_000, '0123456789abcd\r\n')];
    const before = process.memoryUsage().arrayBuffers;
    const running = session.transact(message({ data, size: 900_000 }));
    for (let i = 0; i < 300; i += 1) await turn();
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(16_000_000);
    await clock.advance(179_000);
    expect(session.state()).toBe('busy');
    await clock.advance(1_001);
    expect(lost(await running)).toMatchObject({ stage: 'body', afterDot: false, reason: 'timeout' });
    expect(clock.pendingTimers()).toBe(0);
  });
});

describe('two transactions at once', () => {
  const envelope = `MAIL FROM:<from@client.test> SIZE=${SMALL.length}\r\nRCPT TO:<to@mx.test>\r\nDATA\r\n`;

  it('lets the next envelope travel in the write that holds the dot', async () => {
    const { session, wire } = await start({});
    const first = session.transact(message());
    const second = session.transact(message());
    expect(session.hasRoom()).toBe(false);
    await first;
    expect(session.hasRoom()).toBe(true);
    const third = session.transact(message());
    await Promise.all([second, third]);
    expect(wire.reads.slice(1)).toEqual([
      envelope,
      `${SMALL}.\r\n${envelope}`,
      `${SMALL}.\r\n${envelope}`,
      `${SMALL}.\r\n`,
    ]);
    expect(session.delivered()).toBe(3);
  });

  it('gives a caller that goes through several awaits its turn before the body leaves', async () => {
    const { session, wire } = await start({});
    const rest = [3, 2, 1];
    const loop = async (): Promise<void> => {
      while (rest.pop() !== undefined) {
        await Promise.resolve(await session.transact(message())).then((r) => r);
        await Promise.resolve();
      }
    };
    const started = session.transact(message());
    await Promise.all([loop(), started]);
    expect(wire.reads.slice(2)).toEqual([
      ...new Array(1).fill(`${SMALL}.\r\n${envelope}`),
      `${SMALL}.\r\n`,
      envelope,
      `${SMALL}.\r\n`,
      envelope,
      `${SMALL}.\r\n`,
    ]);
  });

  it('sends a late envelope at once when the dot has already left', async () => {
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const { session, wire } = await start({
      dot: [{ do: 'wait', until: held, next: '250 kept' }, '250 kept'],
    });
    const first = session.transact(message());
    await until(() => wire.messages.length === 1);
    const second = session.transact(message({ recipients: ['a@mx.test', 'b@mx.test'] }));
    await until(() => wire.reads.length === 4);
    expect(wire.reads[3]).not.toContain('DATA');
    release();
    expect(verdicts(await first)).toEqual(['dot 250 true']);
    expect(verdicts(await second)).toEqual(['dot 250 true', 'dot 250 true']);
  });

  it('goes on with the second when the first is refused at any command', async () => {
    const scripts: Script[] = [
      { mail: ['550 no', '250 ok'], rcpt: ['503 no', '250 ok'], data: ['503 no', '354 go'] },
      { rcpt: ['550 no', '250 ok'], data: ['503 no', '354 go'] },
      { rcpt: ['550 no', '250 ok'] },
      { data: ['451 no', '354 go'] },
      { dot: ['451 no', '250 kept'] },
    ];
    for (const script of scripts) {
      const { session, wire } = await start(script);
      const results = await Promise.all([session.transact(message()), session.transact(message())]);
      expect(done(results[0]).recipients[0]?.accepted).toBe(false);
      expect(verdicts(results[1])).toEqual(['dot 250 true']);
      // Never a reset between an envelope that is already out and its message.
      const afterLastMail = wire.commands.slice(
        wire.commands.findLastIndex((line) => line.startsWith('MAIL')),
      );
      expect(afterLastMail).not.toContain('RSET');
    }
  });

  it('refuses a third as the mistake it is', async () => {
    const { session } = await start({});
    const both = [session.transact(message()), session.transact(message())];
    await expect(session.transact(message())).rejects.toThrow('two transactions');
    await Promise.all(both);
  });
});

describe('a transaction behind one that is not answered', () => {
  const [a, b] = [message({ recipients: ['a@mx.test'] }), message({ recipients: ['b@mx.test'] })];

  /** Two transactions: the first one's message is there and not answered, the envelope of the second may be. */
  async function hanging(script: Script, second: Transaction = b, pipelining = true) {
    const clock = createVirtualClock();
    const answer = Promise.withResolvers<void>();
    const { session, wire } = await start(
      {
        ...(pipelining ? {} : { capabilities: [] }),
        ...script,
        dot: [{ do: 'wait', until: answer.promise, next: '250 2.0.0 kept' }, '250 2.0.0 kept'],
      },
      { clock },
    );
    const told = { slow: 0 };
    const slow = () => {
      told.slow += 1;
    };
    session.watch({ patienceMs: () => 5_000, slow });
    const first = session.transact(a);
    const behind = session.transact(second);
    const envelopes = pipelining ? 2 : 1;
    await until(() => wire.messages.length === 1 && wire.reads.join('').split('MAIL').length > envelopes);
    return { clock, session, wire, first, behind, told, answer: answer.resolve };
  }

  it('comes back after the time that the server usually needs, and is never sent there', async () => {
    const { clock, session, wire, first, behind, told, answer } = await hanging({});
    await clock.advance(4_900);
    expect([session.state(), told.slow]).toEqual(['busy', 0]);
    await clock.advance(200);
    expect(lost(await behind)).toMatchObject({ reason: 'local', untried: true, afterDot: false });
    expect(told.slow).toBe(1);
    // Nothing takes its place while the server has its envelope, and nobody is told twice.
    await clock.advance(60_000);
    expect([session.hasRoom(), session.state(), told.slow]).toEqual([false, 'busy', 1]);
    answer();
    expect(verdicts(await first)).toEqual(['dot 250 true']);
    // The server asks for the message: a lone dot would deliver an empty one.
    await wire.ended;
    expect(wire.messages).toHaveLength(1);
    expect(clock.pendingTimers()).toBe(0);
  });

  it.each([
    ['a lone dot where nobody was accepted', { rcpt: ['250 ok', '550 5.1.1 no', '250 ok'] }, b, ''],
    [
      'a reset where DATA was refused',
      { rcpt: ['250 ok', '550 5.1.1 no', '250 ok'], data: ['354 go', '503 no', '354 go'] },
      b,
      'RSET',
    ],
    ['a reset where DATA was not sent', {}, message({ recipients: ['b@mx.test', 'c@mx.test'] }), 'RSET'],
  ] as const)('is undone by %s, and the connection goes on', async (_, script, second, command) => {
    const { clock, session, wire, first, behind, answer } = await hanging(script, second);
    await clock.advance(5_001);
    expect(lost(await behind).untried).toBe(true);
    answer();
    expect(verdicts(await first)).toEqual(['dot 250 true']);
    await until(() => session.state() === 'idle');
    expect(verdicts(await session.transact(a))).toEqual(['dot 250 true']);
    const lone = command === '' ? [''] : [];
    expect(wire.messages.map(String)).toEqual([String(SMALL), ...lone, String(SMALL)]);
    expect(wire.commands.filter((line) => line === 'RSET')).toHaveLength(command === 'RSET' ? 1 : 0);
  });

  it('comes back where nothing of it was sent, and leaves room for another', async () => {
    const { clock, session, wire, first, behind, answer } = await hanging({}, b, false);
    await clock.advance(5_001);
    expect(lost(await behind).untried).toBe(true);
    expect(session.hasRoom()).toBe(true);
    answer();
    expect(verdicts(await first)).toEqual(['dot 250 true']);
    expect(verdicts(await session.transact(a))).toEqual(['dot 250 true']);
    expect(wire.commands.filter((line) => line.includes('b@mx.test'))).toEqual([]);
  });

  it('is asked whether it goes when its turn comes, and not before', async () => {
    for (const pipelining of [true, false]) {
      let asked = 0;
      const begins = () => {
        asked += 1;
        return false;
      };
      const { wire, first, behind, answer, session } = await hanging({}, { ...b, begins }, pipelining);
      expect(asked).toBe(0);
      answer();
      expect(verdicts(await first)).toEqual(['dot 250 true']);
      expect(lost(await behind)).toMatchObject({ reason: 'local', untried: true });
      await (pipelining ? wire.ended : until(() => session.state() === 'idle'));
      expect(asked).toBe(1);
      expect(wire.messages).toHaveLength(1);
      if (pipelining) continue;
      expect(lost(await session.transact({ ...b, begins })).untried).toBe(true);
      expect(verdicts(await session.transact(a))).toEqual(['dot 250 true']);
    }
  });

  it('sends no envelope where it is not to go any more by the time the dot leaves', async () => {
    const { session, wire } = await start({});
    const both = await Promise.all([session.transact(a), session.transact({ ...b, mayGo: () => false })]);
    expect(verdicts(both[0])).toEqual(['dot 250 true']);
    expect(lost(both[1])).toMatchObject({ reason: 'local', untried: true });
    expect(verdicts(await session.transact(a))).toEqual(['dot 250 true']);
    expect(wire.commands.filter((line) => line.includes('b@mx.test'))).toEqual([]);
  });

  it('is lost soon where the server drops what came behind the dot', async () => {
    const clock = createVirtualClock();
    const { session, wire } = await start({ dropsBehindDot: true }, { clock });
    const both = [session.transact(a), session.transact(b)];
    expect(verdicts(await both[0]!)).toEqual(['dot 250 true']);
    await clock.advance(14_000);
    expect(session.state()).toBe('busy');
    await clock.advance(1_001);
    expect(lost(await both[1]!)).toMatchObject({
      ...{ stage: 'mail', reason: 'timeout', reused: true, untried: false, pipelined: true },
    });
    expect(wire.messages).toHaveLength(1);
  });

  it('is lost as soon on a connection that went away without a sign while it was idle', async () => {
    const clock = createVirtualClock();
    const { session, wire } = await start({ mail: ['250 ok', { do: 'silence' }] }, { clock });
    expect(verdicts(await session.transact(a))).toEqual(['dot 250 true']);
    const late = session.transact(b);
    await until(() => wire.commands.filter((line) => line.startsWith('MAIL')).length === 2);
    await clock.advance(15_001);
    expect(lost(await late)).toMatchObject({
      ...{ stage: 'mail', reason: 'timeout', reused: true, untried: false, pipelined: false },
    });
  });

  it('is waited for longer where the server was slow before', async () => {
    const clock = createVirtualClock();
    const first = Promise.withResolvers<void>();
    const slowly = { do: 'wait', until: first.promise, next: '250 ok' } as const;
    const { session, wire } = await start({ mail: [slowly, { do: 'silence' }] }, { clock });
    const both = [session.transact(a), session.transact(b)];
    await until(() => wire.reads.join('').includes('DATA'));
    await clock.advance(20_000);
    first.resolve();
    expect(verdicts(await both[0]!)).toEqual(['dot 250 true']);
    await clock.advance(79_000);
    expect(session.state()).toBe('busy');
    await clock.advance(1_001);
    expect(lost(await both[1]!)).toMatchObject({ reason: 'timeout', pipelined: true });
  });
});

describe('the end of a connection', () => {
  const endings = ['close', 'reset', 'half-close'] as const;
  const steps = [
    ['mail', 'mail', false],
    ['rcpt', 'rcpt', false],
    ['data', 'data', false],
    ['dot', 'dot', true],
  ] as const;

  it.each(steps)('loses what is in flight when the server goes at %s', async (step, stage, afterDot) => {
    for (const what of endings) {
      const { session } = await start({ [step]: { do: what } });
      const [first, second] = await Promise.all([session.transact(message()), session.transact(message())]);
      const result = lost(first);
      expect(result).toMatchObject({ stage, afterDot, reused: false, untried: false, recipients: [null] });
      expect(['closed', 'reset']).toContain(result.reason);
      expect(lost(second)).toMatchObject({ stage: 'mail', afterDot: false, untried: true });
      expect(session.state()).toBe('closed');
      expect(lost(await session.transact(message()))).toMatchObject({ stage: 'mail', untried: true });
    }
  });

  it('loses nothing but the unfinished message when the server goes in the middle of a large one', async () => {
    for (const what of endings) {
      const { session } = await start({ inBody: { afterBytes: 200_000, action: { do: what } } });
      const data = [Buffer.alloc(8_000_000, 'abcdefgh\r\n')];
      const result = lost(await session.transact(message({ data, size: 900_000 })));
      expect(result).toMatchObject({ stage: 'body', afterDot: false });
    }
  });

  it('says that the session was reused, so that the caller can try again at once', async () => {
    const { session } = await start({ mail: ['250 ok', { do: 'close' }] });
    expect(verdicts(await session.transact(message()))).toEqual(['dot 250 true']);
    expect(lost(await session.transact(message()))).toMatchObject({
      stage: 'mail',
      reused: true,
      untried: false,
    });
  });

  it('counts as reused behind a transaction that was refused', async () => {
    const { session } = await start({ mail: ['250 ok', { do: 'close' }], rcpt: '550 no' });
    expect(verdicts(await session.transact(message()))).toEqual(['rcpt 550 false']);
    expect(lost(await session.transact(message()))).toMatchObject({ reused: true });
  });

  it.each(steps)('takes a 421 at %s as the end, temporary for all undecided', async (step, stage) => {
    const { session } = await start({ [step]: { do: 'last', reply: '421 4.3.2 going down' } });
    const [first, second] = await Promise.all([session.transact(message()), session.transact(message())]);
    expect(lost(first)).toMatchObject({ stage, reason: '421', afterDot: false, reply: { code: 421 } });
    expect(lost(second)).toMatchObject({ reason: '421', untried: true });
  });

  it('keeps the refusals that came before a 421', async () => {
    const { session } = await start({ rcpt: ['550 5.1.1 no', '250 ok', '421 enough'] });
    const recipients = ['a@mx.test', 'b@mx.test', 'c@mx.test'];
    const result = lost(await session.transact(message({ recipients })));
    expect(result.recipients.map((r) => r?.reply.code ?? null)).toEqual([550, null, null]);
    const refused = await start({ mail: '550 no', rcpt: '421 enough' });
    expect(verdicts(await refused.session.transact(message()))).toEqual(['mail 550 false']);
  });

  it('notices the end of an idle session, with and without a 421', async () => {
    for (const [reply, reason] of [
      ['421 idle too long', '421'],
      ['250 hello?', 'protocol'],
      ['', 'closed'],
    ] as const) {
      let release = () => {};
      const held = new Promise<void>((resolve) => {
        release = resolve;
      });
      // The answer to EHLO, and later something nobody asked for.
      const next = reply === '' ? ({ do: 'close' } as const) : ({ do: 'last', reply } as const);
      const ehlo = { do: 'half', bytes: '250 mx.test\r\n', next: { do: 'wait', until: held, next } } as const;
      const { session } = await start({ ehlo });
      const closed = new Promise((resolve) => session.onClosed(resolve));
      release();
      expect(await closed).toMatchObject({ reason });
      expect(session.hasRoom()).toBe(false);
      expect(lost(await session.transact(message()))).toMatchObject({ reason, untried: true, stage: 'mail' });
    }
  });

  it('takes a refusal in the middle of the message, and ends the connection', async () => {
    for (const [reply, kind] of [
      ['552 5.3.4 too big', 'done'],
      ['250 thanks', 'lost'],
      ['421 4.3.2 bye', 'lost'],
    ] as const) {
      const { session } = await start({ inBody: { afterBytes: 100_000, action: reply } });
      const data = [Buffer.alloc(20_000_000, 'abcdefgh\r\n')];
      const result = await session.transact(message({ data, size: 900_000 }));
      expect(result.kind).toBe(kind);
      if (kind === 'done') expect(verdicts(result)).toEqual(['data 552 false']);
      else expect(result).toMatchObject({ stage: 'body', afterDot: false });
      expect(session.state()).toBe('closed');
    }
  });

  it('takes a refusal in the middle of the message also where the connection breaks behind it', async () => {
    /** Answers as a server whose system takes writes until it is gone; what it said last is there to be read. */
    class Refusing extends Duplex {
      taken = 0;
      override _read(): void {}
      override _write(chunk: Buffer, _: BufferEncoding, done: (error?: Error) => void): void {
        const inBody = this.taken > 0 || chunk.length > 10_000;
        if (inBody) this.taken += chunk.length;
        if (this.taken > 200_000) {
          done(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }));
          return;
        }
        const verb = inBody ? '' : chunk.toString('latin1', 0, 4);
        if (verb === 'EHLO') this.say('250-mx.test\r\n250 PIPELINING\r\n');
        if (verb === 'MAIL') this.say('250 ok\r\n250 ok\r\n354 go\r\n');
        if (this.taken > 100_000) this.say('552 5.3.4 too big\r\n');
        done();
      }
      say(text: string): void {
        setImmediate(() => this.push(text));
      }
    }
    const socket = new Refusing();
    socket.push('220 mx.test\r\n');
    const connect = () => Promise.resolve({ kind: 'connected', socket } as const);
    const session = await open({ host: '192.0.2.1', port: 25 }, { connect });
    const data = [Buffer.alloc(1_000_000, 'abcdefgh\r\n')];
    expect(verdicts(await session.transact(message({ data })))).toEqual(['data 552 false']);
  });

  it.each([
    ['mail', '354 what', 'mail', false],
    ['rcpt', '354 what', 'rcpt', false],
    ['data', '250 what', 'data', false],
    ['dot', '354 what', 'dot', true],
    ['dot', 'hello', 'dot', true],
    ['mail', '25 0 ok', 'mail', false],
  ] as const)('treats nonsense at %s (%s) as the end', async (step, reply, stage, afterDot) => {
    const { session } = await start({ [step]: reply });
    const result = lost(await session.transact(message()));
    expect(result).toMatchObject({ stage, afterDot, reason: 'protocol' });
  });

  it.each([
    ['250', 'dot 250 true'],
    ['550', 'dot 550 false'],
  ])('takes a %s with ten thousand lines of text as what it is', async (code, verdict) => {
    const bytes = `${`${code}-2.0.0 and so on\r\n`.repeat(10_000)}${code} the end\r\n`;
    const { session, wire } = await start({ dot: { do: 'raw', bytes } });
    const both = await Promise.all([session.transact(message()), session.transact(message())]);
    expect(verdicts(both[0])).toEqual([verdict]);
    // Nothing is read behind it: what travelled with it goes another way, and nothing but its envelope was sent.
    expect(lost(both[1])).toMatchObject({ stage: 'mail', afterDot: false });
    expect(session.state()).toBe('closed');
    expect(wire.messages).toHaveLength(1);
  });

  it('reads one line of any length, and goes on behind it', async () => {
    const { session } = await start({ dot: `250 2.0.0 ${'kept '.repeat(20_000)}` });
    const both = await Promise.all([session.transact(message()), session.transact(message())]);
    for (const result of both) expect(verdicts(result)).toEqual(['dot 250 true']);
  });

  it('stops a babbling server at every step', async () => {
    for (const step of ['mail', 'rcpt', 'data', 'dot'] as const) {
      for (const bytes of ['250-more\r\n'.repeat(500), 'x'.repeat(5000), '250 ok\r\n'.repeat(500)]) {
        const { session, wire } = await start({ [step]: { do: 'babble', bytes } });
        const result = await session.transact(message());
        if (result.kind === 'lost') expect(result.reason).toBe('protocol');
        await wire.ended;
        expect(session.state()).toBe('closed');
      }
    }
  });

  it('says goodbye without waiting, when all is done', async () => {
    const { session, wire } = await start({});
    const running = session.transact(message());
    session.quit();
    expect(session.hasRoom()).toBe(false);
    expect(lost(await session.transact(message()))).toMatchObject({ reason: 'local', untried: true });
    expect(verdicts(await running)).toEqual(['dot 250 true']);
    expect(session.state()).toBe('closed');
    await wire.ended;
    expect(wire.commands.at(-1)).toBe('QUIT');
  });

  it('waits 2 s for the answer to QUIT', async () => {
    const clock = createVirtualClock();
    const { session, wire } = await start({ quit: { do: 'silence' } }, { clock });
    let closed = false;
    session.onClosed(() => {
      closed = true;
    });
    session.quit();
    await until(() => wire.commands.includes('QUIT'));
    await clock.advance(1_900);
    expect(closed).toBe(false);
    await clock.advance(101);
    // What has arrived by then is read first.
    await new Promise<void>(afterInput);
    expect(closed).toBe(true);
    expect(clock.pendingTimers()).toBe(0);
  });

  it('gives everything back when it is destroyed', async () => {
    const { session } = await start({ dot: { do: 'silence' } });
    const both = [session.transact(message()), session.transact(message())];
    session.destroy();
    for (const result of await Promise.all(both)) expect(lost(result).reason).toBe('local');
  });
});

describe('time limits', () => {
  async function silentAt(step: 'mail' | 'rcpt' | 'data' | 'dot' | 'rset', script: Script = {}) {
    const clock: VirtualClock = createVirtualClock();
    const { session, wire } = await start({ ...script, [step]: { do: 'silence' } }, { clock });
    return { clock, session, wire };
  }

  it.each([
    ['mail', 300_000, 'mail'],
    ['rcpt', 300_000, 'rcpt'],
    ['data', 120_000, 'data'],
    ['dot', 600_000, 'dot'],
  ] as const)('waits at %s for %d ms', async (step, limitMs, stage) => {
    const { clock, session, wire } = await silentAt(step);
    const running = session.transact(message());
    await until(() => (step === 'dot' ? wire.messages.length === 1 : wire.commands.includes('DATA')));
    for (let i = 0; i < 10; i += 1) await turn();
    await clock.advance(limitMs - 1_000);
    expect(session.state()).toBe('busy');
    await clock.advance(1_001);
    expect(lost(await running)).toMatchObject({ stage, reason: 'timeout', afterDot: step === 'dot' });
    expect(clock.pendingTimers()).toBe(0);
  });

  it('takes an answer to the dot after nine minutes as the delivery it is', async () => {
    const clock = createVirtualClock();
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const { session, wire } = await start({ dot: { do: 'wait', until: held, next: '250 kept' } }, { clock });
    const running = session.transact(message());
    await until(() => wire.messages.length === 1);
    await clock.advance(540_000);
    release();
    expect(verdicts(await running)).toEqual(['dot 250 true']);
    expect(wire.messages).toHaveLength(1);
  });

  it('lets an idle session rest for hours', async () => {
    const { clock, session } = await silentAt('rset');
    expect(verdicts(await session.transact(message()))).toEqual(['dot 250 true']);
    await clock.advance(7_200_000);
    expect(session.state()).toBe('idle');
    expect(verdicts(await session.transact(message()))).toEqual(['dot 250 true']);
  });

  it('waits 20 s for a reset, and does not blame the message', async () => {
    const { clock, session, wire } = await silentAt('rset', { rcpt: '550 no', data: '503 no' });
    expect(verdicts(await session.transact(message()))).toEqual(['rcpt 550 false']);
    const running = session.transact(message());
    await until(() => wire.commands.includes('RSET'));
    await clock.advance(20_001);
    expect(lost(await running)).toMatchObject({ stage: 'mail', reason: 'timeout', untried: true });
  });
});

describe('any bytes at all', () => {
  const piece = fc.oneof(
    fc.constantFrom(
      '250 ok\r\n',
      '250-x\r\n',
      '354 go\r\n',
      '421 bye\r\n',
      '550 no\r\n',
      '\r\n',
      '25',
      '220 hi\n',
    ),
    fc.uint8Array({ maxLength: 12 }).map((bytes) => Buffer.from(bytes).toString('latin1')),
  );
  const bytes = fc.array(piece, { maxLength: 6 }).map((pieces) => pieces.join(''));
  const raw = (text: string) => ({ do: 'raw' as const, bytes: text });
  const steps = ['banner', 'ehlo', 'mail', 'rcpt', 'data', 'dot', 'rset'] as const;

  it('neither crash nor hang a session, at any step', async () => {
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...steps), bytes, fc.boolean(), async (step, text, pipelining) => {
        const clock = createVirtualClock();
        const script: Script = { [step]: [raw(text)], capabilities: pipelining ? ['PIPELINING'] : [] };
        const mx = await startScriptedMx(script);
        let finished = false;
        const run = async () => {
          const result = await tryOpen(mx, { clock });
          if (result.kind === 'failed') return;
          const { session } = result;
          const recipients = ['a@mx.test', 'b@mx.test'];
          await Promise.all([session.transact(message()), session.transact(message({ recipients }))]);
          await session.transact(message());
          session.destroy();
        };
        const running = run().finally(() => {
          finished = true;
        });
        // Whatever the server holds back, time ends it.
        for (let i = 0; i < 200 && !finished; i += 1) await (i % 10 === 9 ? clock.advance(700_000) : turn());
        await running;
        expect(clock.pendingTimers()).toBe(0);
        await mx.close();
      }),
      { numRuns: 300 },
    );
  });
});
