import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DEFAULT_EMAIL_LIMITS } from './limits.ts';
import { parseEmailBody, readEmailObject } from './read-email.ts';

const NOW = 1_790_000_000_000;
const DAY = 86_400_000;
const MAIL = {
  From: { email: 'a@example.com' },
  To: [{ email: 'b@example.net' }],
  Subject: 'x',
  ContentType: 'Text',
  PlainContent: 'x',
};

function read(fields: object, strict = false) {
  const options = { strict, blockedExtensions: new Set<string>(), nowMs: NOW };
  const result = readEmailObject(
    parseEmailBody(Buffer.from(JSON.stringify({ ...MAIL, ...fields }))),
    DEFAULT_EMAIL_LIMITS,
    options,
  );
  if (!result.ok) return { problems: result.problems.map(({ name, field }) => `${name} ${field ?? ''}`) };
  const { sendAt, expiresAt, metadata } = result.submission;
  return { sendAt, expiresAt, metadata };
}
const iso = (at: number) => new Date(at).toISOString();

describe('SendAt and ExpiresAt', () => {
  it('are absent where they are absent or null', () => {
    expect(read({ SendAt: null, ExpiresAt: null })).toEqual({ sendAt: null, expiresAt: null, metadata: {} });
  });

  it('take both forms, in any spelling of the name, strict or not', () => {
    const at = NOW + DAY;
    for (const strict of [true, false]) {
      expect(read({ sendat: iso(at) }, strict)).toMatchObject({ sendAt: at });
      expect(read({ SendAt: at / 1000, EXPIRESAT: iso(at + 1000) }, strict)).toMatchObject({
        sendAt: at,
        expiresAt: at + 1000,
      });
    }
  });

  it('hold exactly to their bounds', () => {
    fc.assert(
      fc.property(fc.integer({ min: -60 * DAY, max: 60 * DAY }), (ahead) => {
        const found = read({ SendAt: iso(NOW + ahead) });
        if (ahead > 30 * DAY || ahead < -300_000) {
          expect(found).toEqual({ problems: ['send-at-invalid /SendAt'] });
        } else expect(found).toMatchObject({ sendAt: ahead <= 0 ? null : NOW + ahead });
      }),
    );
    fc.assert(
      fc.property(
        fc.integer({ min: -300_000, max: 30 * DAY }),
        fc.integer({ min: -DAY, max: 61 * DAY }),
        (send, after) => {
          const start = Math.max(NOW + send, NOW);
          const found = read({ SendAt: iso(NOW + send), ExpiresAt: iso(start + after) });
          if (after <= 0 || after > 30 * DAY) {
            expect(found).toEqual({ problems: ['expires-at-invalid /ExpiresAt'] });
          } else expect(found).toMatchObject({ expiresAt: start + after });
        },
      ),
    );
  });

  it('refuse what is no time by its own name, and one problem at a time', () => {
    for (const bad of ['soon', {}, [], true, '2026-11-20T08:00:00', -1, Number.MAX_VALUE]) {
      expect(read({ SendAt: bad, ExpiresAt: iso(NOW + DAY) })).toEqual({
        problems: ['send-at-invalid /SendAt'],
      });
      expect(read({ ExpiresAt: bad })).toEqual({ problems: ['expires-at-invalid /ExpiresAt'] });
    }
  });
});

describe('Metadata', () => {
  const text = (max: number) => fc.string({ minLength: 1, maxLength: max });

  it('comes back pair for pair, whatever the keys are called', () => {
    fc.assert(
      fc.property(fc.dictionary(text(64), fc.string({ maxLength: 400 }), { maxKeys: 20 }), (given) => {
        const found = read({ Metadata: given });
        const bytes = Object.entries(given).flat().join('');
        if (Buffer.byteLength(bytes) > 10_000) {
          expect(found).toEqual({ problems: ['metadata-invalid /Metadata'] });
        } else {
          const kept = Object.entries(found.metadata ?? {});
          expect(kept).toEqual(Object.entries(given).map((pair) => pair.map((part) => part.toWellFormed())));
        }
      }),
    );
    const own = JSON.parse('{"__proto__":"a","constructor":"b"}') as object;
    const found = read({ Metadata: own }).metadata ?? {};
    expect(Object.entries(found)).toEqual([
      ['__proto__', 'a'],
      ['constructor', 'b'],
    ]);
    expect(Object.getPrototypeOf(found)).toBe(Object.prototype);
  });

  it.each<[string, unknown, string]>([
    ['no object', 'a=b', '/Metadata'],
    ['an array', ['a'], '/Metadata'],
    ['a number', { order: 7 }, '/Metadata/order'],
    ['an object inside', { a: {} }, '/Metadata/a'],
    ['an empty key', { '': 'x' }, '/Metadata/'],
    ['a long key', { ['k'.repeat(65)]: 'x' }, `/Metadata/${'k'.repeat(64)}…`],
    ['a long value', { 'a/b': 'x'.repeat(513) }, '/Metadata/a~1b'],
    ['21 keys', Object.fromEntries(Array.from({ length: 21 }, (_, i) => [`k${i}`, ''])), '/Metadata'],
    [
      'too much together',
      Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`k${i}`, 'é'.repeat(300)])),
      '/Metadata',
    ],
  ])('refuses %s', (_name, Metadata, field) => {
    expect(read({ Metadata })).toEqual({ problems: [`metadata-invalid ${field}`] });
  });

  it('never throws for any JSON', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), fc.jsonValue(), (Metadata, SendAt, ExpiresAt) => {
        read({ Metadata, SendAt, ExpiresAt }, true);
      }),
    );
  });
});
