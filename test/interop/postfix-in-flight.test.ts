/** Messages in flight to a real Postfix: many unanswered on one connection, some of them refused. Skipped where it is not installed. */
import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { openSession } from '../../src/smtp/client-session.ts';
import type { Session, Transaction, TransactionResult } from '../../src/smtp/client-types.ts';
import { postfixMissing, startOwnPostfix } from '../fakes/own-postfix.ts';

const missing = postfixMissing();
if (missing !== null) process.stderr.write(`SKIPPED: messages in flight to a real Postfix: ${missing}\n`);
const cleanups: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

function letter(n: number, recipient: string): Transaction {
  const data = [
    Buffer.from(`Message-ID: <${n}@sender.example>\r\nSubject: ${n}\r\n\r\n.${n}\r\n.\r\nend\r\n`),
  ];
  return {
    ...{ mailFrom: 'news@sender.example', recipients: [recipient], data, size: data[0]?.length ?? 0 },
    ...{ smtpUtf8: false, eightBit: false },
  };
}

const short = (result: TransactionResult) =>
  result.kind === 'done'
    ? `${result.recipients[0]?.stage} ${result.recipients[0]?.reply.code}`
    : JSON.stringify(result);

describe.skipIf(missing !== null)('a real Postfix', () => {
  it('takes sixteen messages in flight, and those that it refuses harm no other', async () => {
    const postfix = await startOwnPostfix({ domain: 'reader.example' });
    cleanups.push(() => postfix.stop());
    const opened = await openSession(
      { host: 'localhost', address: '127.0.0.1', port: postfix.port, implicitTls: false },
      { clock: systemClock, heloName: 'client.sender.example', tls: 'off' },
    );
    if (opened.kind !== 'open') throw new Error(opened.detail);
    const session: Session = opened.session;
    cleanups.push(() => session.destroy());
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
    expect(short(await session.sendWhole(letter(0, 'a@reader.example')))).toBe('dot 250');
    const to = (n: number) => (n % 5 === 3 ? 'nobody@reader.example' : `user${n}@reader.example`);
    const numbers = Array.from({ length: 16 }, (_, i) => i + 1);
    const sent = numbers.map((n) => {
      expect(session.maySendWhole(16)).toBe(true);
      return session.sendWhole(letter(n, to(n)));
    });
    expect(session.inFlight()).toBe(16);
    const results = (await Promise.all(sent)).map(short);
    expect(results, postfix.log()).toEqual(numbers.map((n) => (n % 5 === 3 ? 'rcpt 550' : 'dot 250')));
    expect([faults, isProven]).toEqual([[], true]);
    const expected = [0, ...numbers.filter((n) => n % 5 !== 3)];
    await expect.poll(() => postfix.mail().length).toBe(expected.length);
    const mail = postfix.mail().map(String);
    for (const n of expected) {
      const own = mail.filter((one) => one.includes(`\r\nSubject: ${n}\r\n`));
      expect(own).toHaveLength(1);
      expect(own[0]).toMatch(new RegExp(`\r\n\r\n\\.${n}\r\n\\.\r\nend\r\n$`));
    }
  });
});
