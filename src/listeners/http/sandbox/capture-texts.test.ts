import { describe, expect, it } from 'vitest';
import { AppError } from '../../../lib/errors.ts';
import { createManualClock } from '../../../store/sqlite/test-support.ts';
import type { CaptureText } from '../../../store/topics/captures.ts';
import { quietLog } from '../test-support.ts';
import { createCaptureTexts } from './capture-texts.ts';
import { readCapturedMail } from './captured-mail.ts';
import { createCapturedReader } from './captured-reader.ts';
import { MAX_TEXT_CHARS, searchedText } from './captured-text.ts';

const mail = (type: string, encoding: string, body: string) =>
  Buffer.from(
    `Subject: x\r\nMIME-Version: 1.0\r\nContent-Type: ${type}; charset=utf-8\r\nContent-Transfer-Encoding: ${encoding}\r\n\r\n${body}`,
  );
const inside = async (bytes: Uint8Array) => searchedText(await readCapturedMail(bytes));

describe('the text of a captured message', () => {
  it.each([
    ['as it is', mail('text/plain', '8bit', 'Grüße aus Köln'), 'grüße aus köln'],
    ['quoted-printable', mail('text/plain', 'quoted-printable', 'Gr=C3=BC=\r\n=C3=9Fe'), 'grüße'],
    ['base64', mail('text/plain', 'base64', Buffer.from('東京の\r\n注文').toString('base64')), '東京の 注文'],
    [
      'decomposed letters',
      mail('text/plain', 'base64', Buffer.from('Cafe\u0301').toString('base64')),
      'caf\u00e9',
    ],
    [
      'HTML alone',
      mail(
        'text/html',
        '7bit',
        '<style>p{}</style><p>Your  code<br>is <b>482913</b>, <a href="https://example.org/v?t=1&amp;u=2">go</a></p>',
      ),
      'your code is 482913, go (https://example.org/v?t=1&u=2)',
    ],
  ])('is read from %s', async (_name, bytes, text) => {
    expect(await inside(bytes)).toEqual({ hasFiles: false, text });
  });

  it('holds both parts where they say different things, one where they say the same', () => {
    const empty = { Headers: [], Attachments: [], Links: [], Codes: [], ParseError: null };
    expect(searchedText({ ...empty, PlainContent: 'Hello', HTMLContent: '<p>Hello</p>' }).text).toBe('hello');
    expect(searchedText({ ...empty, PlainContent: 'See HTML', HTMLContent: '<p>Hi</p>' }).text).toBe(
      'see html hi',
    );
  });

  it('is cut, and knows files from pictures inside', () => {
    const file = { Filename: 'a.txt', Type: 'text/plain', Disposition: 'attachment', ContentId: '', Size: 1 };
    const contents = {
      ...{ HTMLContent: '', Headers: [], Links: [], Codes: [], ParseError: null },
      PlainContent: 'x'.repeat(MAX_TEXT_CHARS + 10),
      Attachments: [file],
    };
    expect(searchedText(contents)).toEqual({ hasFiles: true, text: 'x'.repeat(MAX_TEXT_CHARS) });
    const picture = { ...file, Disposition: 'inline' };
    expect(searchedText({ ...contents, Attachments: [picture] }).hasFiles).toBe(false);
  });
});

describe('reading captured messages', () => {
  it('reads all that is unread, a few at a time, and what comes while it reads', async () => {
    const clock = createManualClock();
    const unread = new Set(Array.from({ length: 45 }, (_, n) => n + 1));
    const put: CaptureText[] = [];
    let tell: () => void = () => {};
    const texts = createCaptureTexts({
      clock,
      log: quietLog,
      reader: createCapturedReader({ run: () => Promise.reject(new Error('no worker')) }, { hereBytes: 500 }),
      store: {
        onCaptured(listener) {
          tell = () => listener([]);
          return () => {};
        },
        unreadCaptures: async ({ limit }) =>
          [...unread]
            .reverse()
            .slice(0, limit)
            .map((messageSeq) => ({ domainId: 1, messageSeq })),
        async readContent({ messageSeq }) {
          if (messageSeq === 45) return null;
          // Larger than what is read here, and no worker takes it.
          if (messageSeq === 44) return mail('text/plain', '7bit', 'y'.repeat(1_000));
          return mail('text/plain', '7bit', `Mail ${messageSeq}`);
        },
        async putCaptureTexts(params) {
          for (const text of params.texts) {
            unread.delete(text.messageSeq);
            put.push(text);
          }
          if (put.length === 45) {
            unread.add(99);
            tell();
          }
        },
      },
    });
    texts.start();
    await expect
      .poll(() => {
        clock.advance(250);
        return unread.size;
      })
      .toBe(0);
    await texts.stop();
    const of = (seq: number) => put.find(({ messageSeq }) => messageSeq === seq)?.text;
    expect([of(45), of(44), of(43), of(99)]).toEqual(['', '', 'mail 43', 'mail 99']);
  });

  it('reads domains in turn, and one whose messages take too long holds up nobody else', async () => {
    const clock = createManualClock();
    const SLOW = 1;
    const OTHER = 2;
    // Newest first: all of the slow ones came after the first of the other domain.
    const unread = new Map<number, number>([
      [1, OTHER],
      ...Array.from({ length: 22 }, (_, n): [number, number] => [n + 2, SLOW]),
    ]);
    const deadlines: unknown[] = [];
    const stored: { seq: number; text: string; at: number }[] = [];
    const began = clock.monotonicMs();
    let tell: () => void = () => {};
    const texts = createCaptureTexts({
      clock,
      log: quietLog,
      reader: createCapturedReader(
        {
          run(_tenant, _kind, _job, more) {
            deadlines.push(more?.deadlineMs);
            clock.advance(more?.deadlineMs ?? 15_000);
            return Promise.reject(new AppError('request-too-complex'));
          },
        },
        { hereBytes: 500 },
      ),
      store: {
        onCaptured(listener) {
          tell = () => listener([]);
          return () => {};
        },
        async unreadCaptures({ afterDomain = -1, limit }) {
          return [SLOW, OTHER]
            .filter((domainId) => domainId > afterDomain)
            .flatMap((domainId) =>
              [...unread]
                .filter(([, domain]) => domain === domainId)
                .map(([messageSeq]) => ({ domainId, messageSeq }))
                .reverse()
                .slice(0, limit),
            );
        },
        async readContent({ messageSeq }) {
          const isSlow = unread.get(messageSeq) === SLOW;
          return mail('text/plain', '7bit', isSlow ? 'y'.repeat(1_000) : `Mail ${messageSeq}`);
        },
        async putCaptureTexts(params) {
          for (const { messageSeq, text } of params.texts) {
            unread.delete(messageSeq);
            stored.push({ seq: messageSeq, text, at: clock.monotonicMs() - began });
          }
        },
      },
    });
    const settle = (left: () => number, stepMs: number) => {
      const advanced = () => {
        clock.advance(stepMs);
        return left();
      };
      return expect.poll(advanced, { interval: 5 });
    };
    texts.start();
    const others = () => [...unread.values()].filter((domain) => domain === OTHER).length;
    await settle(others, 50).toBe(0);
    const [slow, first] = stored;
    expect([slow?.text, first?.text, stored.length]).toEqual(['', 'mail 1', 2]);
    // The next one comes while the slow domain pauses.
    unread.set(99, OTHER);
    tell();
    await settle(others, 50).toBe(0);
    expect(stored.map(({ text }) => text)).toEqual(['', 'mail 1', 'mail 99']);
    expect(stored.at(-1)?.at).toBeLessThan(8_000);
    // Each of the slow ones is tried once.
    await settle(() => unread.size, 1_000).toBe(0);
    await texts.stop();
    expect(deadlines).toEqual(Array.from({ length: 22 }, () => 2_000));
  });
});
