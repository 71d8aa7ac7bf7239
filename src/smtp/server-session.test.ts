/**
 * The server's side of SMTP without a socket: every rule of the dialogue, time from a virtual clock, and properties over
 * arbitrary octets in arbitrary cuts.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createVirtualClock } from '../lib/virtual-clock.ts';
import { reply } from './server-reply.ts';
import { codes, createDriver, greeted } from './test-server-driver.ts';

const ENVELOPE = 'MAIL FROM:<a@example.com>\r\nRCPT TO:<b@example.net>\r\n';
const b64 = (text: string) => Buffer.from(text).toString('base64');

describe('a transaction', () => {
  it('goes from EHLO to a message', async () => {
    const driver = createDriver();
    driver.session.start();
    expect(driver.output).toBe('220 mx.test ESMTP Postrider\r\n');
    const hello = await driver.say('EHLO client.test\r\n');
    expect(hello.split('\r\n').slice(0, -1)).toEqual([
      '250-mx.test',
      '250-PIPELINING',
      '250-SIZE 26214400',
      '250-8BITMIME',
      '250-SMTPUTF8',
      '250-ENHANCEDSTATUSCODES',
      '250-DSN',
      '250-STARTTLS',
      '250 HELP',
    ]);
    expect(codes(await driver.say('MAIL FROM:<a@example.com>\r\n'))).toEqual(['250 2.1.0']);
    expect(codes(await driver.say('RCPT TO:<b@example.net>\r\n'))).toEqual(['250 2.1.5']);
    expect(codes(await driver.say('DATA\r\n'))).toEqual(['354']);
    expect(codes(await driver.say('Subject: x\r\n\r\n..dot\r\n.\r\n'))).toEqual(['250 2.6.0']);
    expect(driver.messages).toMatchObject([
      { from: 'a@example.com', to: ['b@example.net'], text: 'Subject: x\r\n\r\n.dot\r\n' },
    ]);
    expect(codes(await driver.say('QUIT\r\n'))).toEqual(['221 2.0.0']);
    expect(driver.closed).toBe(true);
  });

  it('may come in one go, several of them, and is answered in order', async () => {
    const driver = await greeted();
    const output = await driver.say(
      `${ENVELOPE}RCPT TO:<nobody@example.net>\r\nDATA\r\none\r\n.\r\n${ENVELOPE}DATA\r\ntwo\r\n.\r\nQUIT\r\n`,
    );
    expect(codes(output)).toEqual(
      '250 2.1.0,250 2.1.5,550 5.1.1,354,250 2.6.0,250 2.1.0,250 2.1.5,354,250 2.6.0,221 2.0.0'.split(','),
    );
    expect(driver.messages.map(({ text }) => text)).toEqual(['one\r\n', 'two\r\n']);
  });

  it('has the replies to commands that came together in one write', async () => {
    const driver = await greeted();
    const before = driver.writes;
    const together = `${ENVELOPE}DATA\r\n`;
    // The last command is cut: what is complete is answered, because its end may never come.
    expect(codes(await driver.say(together.slice(0, -3)))).toEqual(['250 2.1.0', '250 2.1.5']);
    expect(codes(await driver.say(together.slice(-3)))).toEqual(['354']);
    await driver.say('one\r\n.\r\n');
    await driver.say(together);
    expect(driver.writes - before).toBe(4);
  });

  it('is answered at once, although the next sender is still looked up', async () => {
    const gate = Promise.withResolvers<null>();
    const senders: Promise<null>[] = [Promise.resolve(null), gate.promise];
    const driver = await greeted({ handler: { onMail: () => senders.shift() ?? gate.promise } });
    await driver.say(`${ENVELOPE}DATA\r\n`);
    expect(codes(await driver.say(`one\r\n.\r\n${ENVELOPE}DATA\r\n`))).toEqual(['250 2.6.0']);
    gate.resolve(null);
    await driver.settle();
    expect(codes(driver.output).slice(-3)).toEqual(['250 2.1.0', '250 2.1.5', '354']);
  });

  it('is forgotten by RSET and by EHLO', async () => {
    const driver = await greeted();
    for (const command of ['RSET', 'EHLO again.test', 'HELO again.test']) {
      await driver.say(ENVELOPE);
      await driver.say(`${command}\r\n`);
      expect(codes(await driver.say('DATA\r\n'))).toEqual(['503 5.5.1']);
    }
  });

  it('takes the null sender, postmaster, a source route and parameters in any case', async () => {
    const driver = await greeted();
    await driver.say('mail from:<> size=10 body=8bitmime smtputf8 ret=hdrs envid=a+2Bb AUTH=<>\r\n');
    await driver.say('rcpt to:<PostMaster> notify=success,delay orcpt=rfc822;c+40d\r\n');
    await driver.say('rcpt to:<@relay.test,@other.test:b@example.net> NOTIFY=NEVER\r\n');
    await driver.say('data\r\nx\r\n.\r\n');
    const [message] = driver.messages;
    expect(message?.envelope).toMatchObject({
      from: { address: null, size: 10, smtpUtf8: true, ret: 'HDRS', envid: 'a+b' },
      recipients: [
        { address: null, notify: ['SUCCESS', 'DELAY'], orcpt: 'rfc822;c@d' },
        { address: { text: 'b@example.net' }, notify: ['NEVER'], orcpt: null },
      ],
    });
  });
});

describe('a command out of place or malformed', () => {
  it.each([
    ['MAIL FROM:<a@example.com>', '503 5.5.1', false],
    ['RCPT TO:<b@example.net>', '503 5.5.1', true],
    ['DATA', '503 5.5.1', true],
    ['EHLO', '501 5.5.4', true],
    ['MAIL', '501 5.5.4', true],
    ['MAIL FROM:a@example.com', '501 5.5.4', true],
    ['MAIL FROM:<a@example.com', '501 5.5.4', true],
    ['MAIL FROM:<a@example.com>x', '501 5.5.4', true],
    ['MAIL FROM:<<a@example.com>', '501 5.5.4', true],
    ['MAIL FROM:<a@b@example.com>', '553 5.1.7', true],
    ['MAIL FROM:<a@[127.0.0.1]>', '553 5.1.7', true],
    ['MAIL FROM:<"a>b"@example.com>', '553 5.1.7', true],
    ['MAIL FROM:<a@example.com> SIZE=1 SIZE=1', '501 5.5.4', true],
    ['MAIL FROM:<a@example.com> SIZE=x', '501 5.5.4', true],
    ['MAIL FROM:<a@example.com> SIZE=99999999999', '552 5.3.4', true],
    ['MAIL FROM:<a@example.com> BODY=BINARYMIME', '501 5.5.4', true],
    ['MAIL FROM:<a@example.com> MT-PRIORITY=3', '555 5.5.4', true],
    ['MAIL FROM:<a@example.com> =', '501 5.5.4', true],
    ['MAIL FROM:<a@example.com> ENVID=a+0Db', '501 5.5.4', true],
    ['MAIL FROM:<\u00fc@example.com>', '553 5.6.7', true],
    ['DATA now', '501 5.5.4', true],
    ['STARTTLS now', '501 5.5.4', true],
    ['EXPN list', '502 5.5.1', true],
    ['XYZZY', '500 5.5.1', true],
    ['', '500 5.5.1', true],
    ['NOOP \u0001', '500 5.5.2', true],
    ['VRFY a', '252 2.5.0', true],
    ['HELP', '214 2.0.0', true],
    ['NOOP anything', '250 2.0.0', true],
    ['AUTH PLAIN', '502 5.5.1', true],
  ])('%j is answered %s', async (command, expected, hello) => {
    const driver = createDriver();
    driver.session.start();
    if (hello) await driver.say('EHLO client.test\r\n');
    expect(codes(await driver.say(Buffer.from(`${command}\r\n`, 'utf8')))).toEqual([expected]);
    expect(driver.closed).toBe(false);
  });

  it.each([
    ['RCPT TO:<>', '501 5.5.4'],
    ['RCPT TO:<b>', '553 5.1.3'],
    ['RCPT TO:<b@example.net> SIZE=1', '555 5.5.4'],
    ['RCPT TO:<b@example.net> NOTIFY=NEVER,DELAY', '501 5.5.4'],
    ['RCPT TO:<b@example.net> ORCPT=b@example.net', '501 5.5.4'],
    ['RCPT TO:<\u00fc@example.net>', '553 5.6.7'],
    ['MAIL FROM:<c@example.com>', '503 5.5.1'],
    ['AUTH PLAIN =', '503 5.5.1'],
  ])('within a transaction %j is answered %s', async (command, expected) => {
    const driver = await greeted({ auth: { required: false, plainText: true } });
    await driver.say('MAIL FROM:<a@example.com>\r\n');
    expect(codes(await driver.say(Buffer.from(`${command}\r\n`, 'utf8')))).toEqual([expected]);
  });

  it('HELP names the commands that are offered, with STARTTLS only before it and AUTH only where it works', async () => {
    const help = async (options: Parameters<typeof greeted>[0]) =>
      (await (await greeted(options)).say('HELP\r\n')).replace(/^214 2\.0\.0 (.*) \(RFC 5321\)\r\n$/, '$1');
    const rest = 'MAIL, RCPT, DATA, RSET, NOOP, VRFY, HELP, QUIT';
    expect(await help({})).toBe(`EHLO, STARTTLS, ${rest}`);
    expect(await help({ startTls: false })).toBe(`EHLO, ${rest}`);
    expect(await help({ auth: { required: true, plainText: false } })).toBe(`EHLO, STARTTLS, ${rest}`);
    const plain = { startTls: false, auth: { required: true, plainText: true } };
    expect(await help(plain)).toBe(`EHLO, AUTH, ${rest}`);
  });

  it('is refused, not run, where it ends with a bare line feed', async () => {
    const driver = await greeted();
    expect(codes(await driver.say('RSET\nNOOP\r\n'))).toEqual(['500 5.5.2', '250 2.0.0']);
    expect(codes(await driver.say('RSET\rNOOP\r\n'))).toEqual(['500 5.5.2']);
  });

  it('ends the connection after twenty of them', async () => {
    const driver = await greeted();
    const output = await driver.say('XYZZY\r\n'.repeat(30));
    expect(codes(output)).toHaveLength(22);
    expect(codes(output).at(-1)).toBe('421 4.7.0');
    expect(driver.closed).toBe(true);
  });

  it('ends the connection where a line never ends, keeping little of it', async () => {
    const driver = await greeted();
    expect(await driver.say('x'.repeat(60_000))).toBe('');
    expect(codes(await driver.say('x'.repeat(6_000)))).toEqual(['421 4.7.0']);
  });

  it('is too long above 2,048 octets, but for AUTH', async () => {
    const driver = await greeted({ auth: { required: false, plainText: true } });
    expect(codes(await driver.say(`NOOP ${'x'.repeat(2050)}\r\n`))).toEqual(['500 5.5.2']);
    expect(codes(await driver.say(`AUTH PLAIN ${'A'.repeat(8000)}\r\n`))).toEqual(['501 5.5.2']);
    expect(codes(await driver.say(`AUTH PLAIN ${'A'.repeat(13_000)}\r\n`))).toEqual(['500 5.5.2']);
  });

  it('of another protocol ends the connection at once', async () => {
    for (const line of [
      'GET / HTTP/1.1\r\n',
      'POST /api HTTP/1.1\r\n',
      'BDAT 10 LAST\r\n',
      '\x16\x03\x01\x02\x00',
    ]) {
      const driver = await greeted();
      const output = await driver.say(`${line}RSET\r\nRSET\r\n`);
      expect(codes(output)).toHaveLength(1);
      expect(driver.closed).toBe(true);
    }
  });

  it('that leads nowhere is answered a hundred times', async () => {
    const driver = await greeted();
    const output = codes(await driver.say('NOOP\r\n'.repeat(102)));
    expect(output.slice(-2)).toEqual(['250 2.0.0', '421 4.7.0']);
  });

  it.each(['EHLO', 'HELO'])('is also a repeated %s', async (verb) => {
    const driver = await greeted();
    const output = codes(await driver.say(`${verb} a.example\r\n`.repeat(200)));
    expect(output.at(-1)).toBe('421 4.7.0');
    expect(driver.closed).toBe(true);
  });
});

describe('limits of a transaction', () => {
  it('answer recipients that are too many with 452 4.5.3, and end the connection after a thousand', async () => {
    const driver = await greeted({ limits: { maxRecipients: 2 } });
    await driver.say('MAIL FROM:<a@example.com>\r\n');
    const output = await driver.say(
      'RCPT TO:<b@example.net>\r\nRCPT TO:<c@example.net>\r\nRCPT TO:<d@example.net>\r\n',
    );
    expect(codes(output)).toEqual(['250 2.1.5', '250 2.1.5', '452 4.5.3']);
    await driver.say('DATA\r\nx\r\n.\r\n');
    expect(driver.messages[0]?.to).toHaveLength(2);
    const endless = codes(await driver.say(ENVELOPE + 'RCPT TO:<b@example.net>\r\n'.repeat(2000)));
    expect(endless.slice(-2)).toEqual(['452 4.5.3', '421 4.7.0']);
    expect(endless).toHaveLength(1004);
    expect(driver.closed).toBe(true);
  });

  it('refuse a message that grows too large, and go on after it', async () => {
    const driver = await greeted({ limits: { maxMessageBytes: 100 } });
    const output = await driver.say(`${ENVELOPE}DATA\r\n${'line of text\r\n'.repeat(8)}.\r\nNOOP\r\n`);
    expect(codes(output).slice(2)).toEqual(['354', '552 5.3.4', '250 2.0.0']);
    const said =
      '552 5.3.4 Message too large; at most 100 octets are taken, with attachments in base64, a third larger';
    expect(output).toContain(said);
    expect(await driver.say('MAIL FROM:<a@example.com> SIZE=101\r\n')).toBe(`${said}\r\n`);
    expect(driver.messages).toEqual([]);
  });

  it('name the length that a line may have here', async () => {
    const driver = await greeted({ limits: { maxLineBytes: 2000 } });
    const output = await driver.say(`${ENVELOPE}DATA\r\n${'a'.repeat(2001)}\r\n.\r\n`);
    expect(output).toMatch(/554 5\.6\.0 A line of the message is longer than 2000 octets; .* base64/);
  });

  it('end the connection of a message that has no end, which is a refusal like others', async () => {
    const refused: string[] = [];
    const driver = await greeted({
      limits: { maxMessageBytes: 100 },
      handler: {
        onRefused: (command, { text }, from) =>
          void refused.push(`${command} ${from?.address?.text} ${text}`),
      },
    });
    await driver.say(`${ENVELOPE}DATA\r\n`);
    expect(codes(await driver.say('line of text\r\n'.repeat(6_000)))).toEqual(['552 5.3.4']);
    expect(driver.closed).toBe(true);
    expect(refused).toEqual([
      expect.stringMatching(/^DATA a@example\.com Message too large; at most 100 octets/),
    ]);
  });

  it.each([
    ['a bare LF', 'a\nb', '554 5.6.0'],
    ['a bare CR', 'a\rb', '554 5.6.0'],
    ['a NUL', 'a\0b', '554 5.6.0'],
    ['a line of 999 octets', 'a'.repeat(999), '554 5.6.0'],
    ['a hidden command', 'a\n.\nMAIL FROM:<evil@example.com>', '554 5.6.0'],
  ])('refuse a message with %s after its end', async (_, text, expected) => {
    const driver = await greeted();
    expect(codes(await driver.say(`${ENVELOPE}DATA\r\n${text}\r\n.\r\nNOOP\r\n`)).slice(2)).toEqual([
      '354',
      expected,
      '250 2.0.0',
    ]);
    expect(driver.messages).toEqual([]);
  });

  it('give shared memory back whatever becomes of the message', async () => {
    let used = 0;
    const memory = () => {
      let own = 0;
      return {
        take(bytes: number) {
          own += bytes;
          used += bytes;
          return used <= 100_000;
        },
        end() {
          used -= own;
          own = 0;
        },
      };
    };
    const taken = await greeted({ memory });
    await taken.say(`${ENVELOPE}DATA\r\nx\r\n.\r\n`);
    expect(used).toBe(0);
    await taken.say(`${ENVELOPE}DATA\r\nx\r\n`);
    expect(used).toBeGreaterThan(0);
    taken.session.end();
    expect(used).toBe(0);
    const failing = await greeted({
      memory,
      handler: { onMessage: () => Promise.reject(new Error('away')) },
    });
    await failing.say(`${ENVELOPE}DATA\r\nx\r\n.\r\n`);
    expect(used).toBe(0);
    used = 99_999;
    const crowded = await greeted({ memory });
    expect(codes(await crowded.say(`${ENVELOPE}DATA\r\nx\r\n.\r\n`)).at(-1)).toBe('452 4.3.1');
  });

  it('refuse DATA where every recipient was refused', async () => {
    const driver = await greeted();
    const output = await driver.say('MAIL FROM:<a@example.com>\r\nRCPT TO:<nobody@example.net>\r\nDATA\r\n');
    expect(codes(output)).toEqual(['250 2.1.0', '550 5.1.1', '554 5.5.1']);
  });
});

describe('STARTTLS', () => {
  it('forgets everything that was said before', async () => {
    const driver = await greeted();
    await driver.say('MAIL FROM:<a@example.com>\r\n');
    expect(codes(await driver.say('STARTTLS\r\n'))).toEqual(['220 2.0.0']);
    expect(driver.tlsAsked).toBe(1);
    driver.session.secured();
    expect(codes(await driver.say('RCPT TO:<b@example.net>\r\n'))).toEqual(['503 5.5.1']);
    expect(codes(await driver.say('MAIL FROM:<a@example.com>\r\n'))).toEqual(['503 5.5.1']);
    expect(await driver.say('EHLO client.test\r\n')).not.toContain('STARTTLS');
    expect(codes(await driver.say('STARTTLS\r\n'))).toEqual(['503 5.5.1']);
  });

  it('is refused where commands were sent along with it, and none of them runs', async () => {
    const driver = await greeted();
    const output = await driver.say(`STARTTLS\r\n${ENVELOPE}DATA\r\nx\r\n.\r\n`);
    expect(codes(output)).toEqual(['503 5.5.1']);
    expect(driver.closed).toBe(true);
    expect(driver.tlsAsked).toBe(0);
  });

  it('ends the connection where octets come before the handshake', async () => {
    const driver = await greeted();
    await driver.say('STARTTLS\r\n');
    expect(await driver.say('EHLO evil.test\r\n')).toBe('');
    expect(driver.closed).toBe(true);
  });

  it('is not known where it is not offered', async () => {
    const driver = await greeted({ startTls: false });
    expect(await driver.say('STARTTLS\r\n')).toMatch(/^502 5\.5\.1 STARTTLS is not offered .* TLS off/);
  });
});

describe('AUTH', () => {
  const auth = { required: true, plainText: true };

  it('takes PLAIN and LOGIN, with and without an initial response', async () => {
    const plain = b64('\0user\0right');
    for (const lines of [
      [`AUTH PLAIN ${plain}`],
      ['AUTH PLAIN', plain],
      ['auth login', b64('user'), b64('right')],
      [`AUTH LOGIN ${b64('user')}`, b64('right')],
      [`AUTH PLAIN ${b64('user\0user\0right')}`],
    ]) {
      const driver = await greeted({ auth });
      const output = await driver.say(`${lines.join('\r\n')}\r\n`);
      expect(codes(output).at(-1)).toBe('235 2.7.0');
      expect(driver.attempts).toMatchObject([{ username: 'user', password: 'right' }]);
      expect(codes(await driver.say('AUTH PLAIN\r\n'))).toEqual(['503 5.5.1']);
      expect(codes(await driver.say('MAIL FROM:<a@example.com>\r\n'))).toEqual(['250 2.1.0']);
    }
  });

  it('is needed before MAIL where it is required', async () => {
    const driver = await greeted({ auth });
    expect(codes(await driver.say('MAIL FROM:<a@example.com>\r\n'))).toEqual(['530 5.7.0']);
  });

  it('that is required but needs TLS is refused with what to do first', async () => {
    const inClear = { auth: { required: true, plainText: false } };
    const startTls = await greeted({ ...inClear, startTls: true });
    expect(await startTls.say('MAIL FROM:<a@example.com>\r\n')).toMatch(/^530 5\.7\.0 .*STARTTLS first/);
    const without = await greeted({ ...inClear, startTls: false });
    expect(await without.say('MAIL FROM:<a@example.com>\r\n')).not.toContain('STARTTLS');
  });

  it('is neither offered nor taken in the clear', async () => {
    const driver = createDriver({ auth: { required: true, plainText: false } });
    driver.session.start();
    expect(await driver.say('EHLO client.test\r\n')).not.toContain('AUTH');
    expect(codes(await driver.say(`AUTH PLAIN ${b64('\0user\0right')}\r\n`))).toEqual(['538 5.7.11']);
    expect(driver.attempts).toEqual([]);
  });

  it.each([
    ['AUTH', '501 5.5.4'],
    ['AUTH CRAM-MD5', '504 5.5.4'],
    ['AUTH PLAIN !!!!', '501 5.5.2'],
    ['AUTH PLAIN ====', '501 5.5.2'],
    ['AUTH PLAIN =', '501 5.5.2'],
    [`AUTH PLAIN ${b64('user')}`, '501 5.5.2'],
    [`AUTH PLAIN ${b64('other\0user\0right')}`, '501 5.5.2'],
    [`AUTH PLAIN ${b64('\0\0right')}`, '501 5.5.2'],
    [`AUTH PLAIN ${b64('\0user\0right')} more`, '501 5.5.4'],
    [`AUTH PLAIN ${b64('\0user\0wrong')}`, '535 5.7.8'],
  ])('%j is answered %s', async (command, expected) => {
    const driver = await greeted({ auth });
    expect(codes(await driver.say(`${command}\r\n`))).toEqual([expected]);
    expect(codes(await driver.say('NOOP\r\n'))).toEqual(['250 2.0.0']);
  });

  it('can be canceled', async () => {
    const driver = await greeted({ auth });
    expect(codes(await driver.say('AUTH LOGIN\r\n*\r\nNOOP\r\n'))).toEqual(['334', '501 5.7.0', '250 2.0.0']);
  });

  it('needs EHLO', async () => {
    const driver = createDriver({ auth });
    driver.session.start();
    await driver.say('HELO client.test\r\n');
    expect(codes(await driver.say('AUTH PLAIN\r\n'))).toEqual(['503 5.5.1']);
  });

  it('ends the connection after the third failure', async () => {
    const driver = await greeted({ auth });
    const wrong = `AUTH PLAIN ${b64('\0user\0wrong')}\r\n`;
    expect(codes(await driver.say(wrong.repeat(5)))).toEqual(['535 5.7.8', '535 5.7.8', '535 5.7.8']);
    expect(driver.closed).toBe(true);
  });
});

describe('waiting', () => {
  it('for a command ends after five minutes, for the rest of a line after one', async () => {
    for (const [input, ms] of [
      ['', 300_000],
      ['NOO', 60_000],
    ] as const) {
      const clock = createVirtualClock();
      const driver = await greeted({ clock });
      await driver.say(input);
      await clock.advance(ms - 1);
      expect(driver.closed).toBe(false);
      await clock.advance(2);
      expect(codes(driver.output).at(-1)).toBe('421 4.4.2');
      expect(driver.closed).toBe(true);
    }
  });

  it('for a login ends however busy the peer is', async () => {
    const clock = createVirtualClock();
    const driver = await greeted({ clock, auth: { required: true, plainText: true } });
    for (let i = 0; i < 20 && !driver.closed; i += 1) {
      await clock.advance(10_000);
      await driver.say('NOOP\r\n');
    }
    expect(codes(driver.output).at(-1)).toBe('421 4.4.2');
  });

  it('for a message that drips in ends when it is slower than the least rate', async () => {
    const clock = createVirtualClock();
    const driver = await greeted({ clock });
    await driver.say(`${ENVELOPE}DATA\r\n`);
    for (let i = 0; i < 40 && !driver.closed; i += 1) {
      await clock.advance(10_000);
      await driver.say('a');
    }
    expect(codes(driver.output).at(-1)).toBe('421 4.4.2');
    expect(clock.monotonicMs()).toBeLessThanOrEqual(310_000);
  });

  it('leaves no timer behind', async () => {
    const clock = createVirtualClock();
    const driver = await greeted({ clock });
    await driver.say('QUIT\r\n');
    expect(clock.pendingTimers()).toBe(0);
  });

  it('for the handler holds the peer, and answers in order', async () => {
    const gate = Promise.withResolvers<null>();
    const driver = await greeted({ handler: { onMail: () => gate.promise } });
    await driver.say('MAIL FROM:<a@example.com>\r\nNOOP\r\n');
    await driver.say('NOOP\r\n');
    expect(driver.held).toBe(true);
    const before = driver.output;
    gate.resolve(null);
    await driver.settle();
    expect(codes(driver.output.slice(before.length))).toEqual(['250 2.1.0', '250 2.0.0', '250 2.0.0']);
    expect(driver.held).toBe(false);
  });
});

describe('the end', () => {
  it('by shutdown comes at once where nothing runs', async () => {
    const driver = await greeted();
    driver.session.shutdown();
    expect(codes(driver.output).at(-1)).toBe('421 4.3.2');
    expect(driver.closed).toBe(true);
  });

  it('by shutdown lets a message that is arriving be finished', async () => {
    const driver = await greeted();
    await driver.say(`${ENVELOPE}DATA\r\nfirst `);
    driver.session.shutdown();
    expect(driver.closed).toBe(false);
    expect(codes(await driver.say('half\r\n.\r\nNOOP\r\n'))).toEqual(['250 2.6.0', '421 4.3.2']);
    expect(driver.messages).toHaveLength(1);
  });

  it('of what the peer sends still leaves it answered', async () => {
    const driver = await greeted();
    driver.session.push(Buffer.from(`${ENVELOPE}DATA\r\nx\r\n.\r\n`));
    driver.session.endOfInput();
    await driver.settle();
    expect(codes(driver.output).at(-1)).toBe('250 2.6.0');
    expect(driver.closed).toBe(true);
  });

  it('of the connection stops everything, an answer of the handler included', async () => {
    const gate = Promise.withResolvers<null>();
    const driver = await greeted({ handler: { onMail: () => gate.promise } });
    await driver.say('MAIL FROM:<a@example.com>\r\n');
    const before = driver.output;
    driver.session.end();
    gate.resolve(null);
    await driver.settle();
    expect(driver.output).toBe(before);
  });

  it('does not come from a handler that fails: that is 451, and reported', async () => {
    const driver = await greeted({ handler: { onRcpt: () => Promise.reject(new Error('away')) } });
    expect(codes(await driver.say(ENVELOPE))).toEqual(['250 2.1.0', '451 4.3.0']);
    expect(driver.failures).toHaveLength(1);
  });

  it('does not come from a handler that fails and knows why: it says what to answer', async () => {
    const driver = await greeted({
      handler: {
        onMail: () => Promise.reject(new Error('away')),
        onFailure: () => reply(451, '4.3.2', 'Come back later'),
      },
    });
    expect(codes(await driver.say(ENVELOPE))).toEqual(['451 4.3.2', '503 5.5.1']);
  });
});

it('reads what came before the greeting after it', async () => {
  const driver = createDriver();
  driver.session.push(Buffer.from('EHLO early.test\r\n'));
  expect(driver.held).toBe(true);
  driver.session.start();
  await driver.settle();
  expect(driver.session.facts()).toMatchObject({ helo: 'early.test' });
});

it('never lets a reply text begin a line of its own', async () => {
  const driver = await greeted({
    handler: { onRcpt: async () => ({ code: 550, enhanced: '5.1.1', text: 'no\r\n250 yes\u2028é' }) },
  });
  expect(await driver.say(ENVELOPE)).toBe('250 2.1.0 Sender OK\r\n550 5.1.1 no  250 yes ?\r\n');
});

describe('any octets', () => {
  const fragment = fc.constantFrom(
    'EHLO a\r\n',
    'MAIL FROM:<a@example.com>\r\n',
    'MAIL FROM:<> SIZE=5\r\n',
    'RCPT TO:<b@example.net>\r\n',
    'RCPT TO:<nobody@example.net>\r\n',
    'DATA\r\n',
    '.\r\n',
    '\r\n.\r\n',
    '\n.\n',
    '\r.\r',
    '.',
    '\r',
    '\n',
    'RSET\r\n',
    'NOOP\r\n',
    'AUTH PLAIN\r\n',
    'AUTH LOGIN dXNlcg==\r\n',
    `AUTH PLAIN ${b64('\0u\0right')}\r\n`,
    'AAAA\r\n',
    '*\r\n',
    'BDAT 3\r\n',
    'text',
    'é\r\n',
    '\0',
    'x'.repeat(1500),
    'QUIT\r\n',
  );
  const input = fc.oneof(
    fc.array(fragment, { maxLength: 25 }).map((parts) => Buffer.from(parts.join(''), 'latin1')),
    fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
  );
  const options = {
    startTls: false,
    auth: { required: false, plainText: true },
    limits: { maxMessageBytes: 4000, maxRecipients: 3 },
  };

  async function run(bytes: Buffer, cuts: readonly number[]) {
    const driver = createDriver(options);
    driver.session.start();
    const edges = [...new Set([0, ...cuts.filter((cut) => cut < bytes.length), bytes.length])].sort(
      (a, b) => a - b,
    );
    for (let i = 1; i < edges.length; i += 1) driver.session.push(bytes.subarray(edges[i - 1], edges[i]));
    for (let i = 0; i < 60; i += 1) await driver.settle();
    return {
      output: driver.output,
      closed: driver.closed,
      messages: driver.messages.map(({ text }) => text),
    };
  }

  it('give the same replies and messages however they are cut, and nothing throws', async () => {
    await fc.assert(
      fc.asyncProperty(input, fc.array(fc.nat(2000), { maxLength: 12 }), async (bytes, cuts) => {
        const whole = await run(bytes, []);
        expect(await run(bytes, cuts)).toEqual(whole);
        expect(await run(bytes, Array.from(bytes.keys()))).toEqual(whole);
        for (const line of whole.output.split('\r\n').slice(0, -1)) expect(line).toMatch(/^[2345]\d\d[ -]/);
      }),
      { numRuns: 300 },
    );
  });
});
