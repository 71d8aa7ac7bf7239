import { createHash, generateKeyPairSync } from 'node:crypto';
import fc from 'fast-check';
import { dkimVerify } from 'mailauth/lib/dkim/verify.js';
import { describe, expect, it } from 'vitest';
import {
  DKIM_RECORDS,
  HEADERS,
  messageOf,
  rsa,
  rsaSigner,
  serviceSigner,
} from '../../test/fakes/dkim-pair.ts';
import { createDkimSigner, type DkimSigner, signMessage } from './dkim.ts';
import { bodyHash, bodyHashInTurns, canonicalField, DkimError, headerFields } from './dkim-canonical.ts';

const NOW_MS = Date.UTC(2026, 10, 21, 12, 0, 0);
/** Answers for the two selectors as mailauth asks for them. */
async function resolver(name: string, type: string): Promise<string[][]> {
  if (type !== 'TXT') throw Object.assign(new Error('no data'), { code: 'ENODATA' });
  const record = DKIM_RECORDS[name];
  if (record === undefined) throw Object.assign(new Error('no name'), { code: 'ENOTFOUND' });
  return [[record]];
}

async function signed(
  headers: readonly string[],
  body: string,
  signers: readonly DkimSigner[] = [rsaSigner],
): Promise<Buffer> {
  const { message, bodyOffset } = messageOf(headers, body);
  return Buffer.concat([await signMessage(message, bodyOffset, signers, { nowMs: NOW_MS }), message]);
}

async function verdicts(message: Buffer): Promise<string[]> {
  const { results } = await dkimVerify(message, { resolver, curTime: new Date(NOW_MS + 1000) });
  return results.map((result: { status: { result: string; comment?: string } }) =>
    [result.status.result, result.status.comment].filter(Boolean).join(' '),
  );
}

/** RFC 6376 §3.4.4 word by word, slowly: what `bodyHash` is compared with. */
function plainBodyHash(body: string): string {
  const lines = body.split('\r\n').map((line) => line.replace(/[ \t]+$/, '').replace(/[ \t]+/g, ' '));
  while (lines.length > 0 && lines[lines.length - 1] === '') lines.pop();
  return createHash('sha256')
    .update(lines.length === 0 ? '' : `${lines.join('\r\n')}\r\n`, 'latin1')
    .digest('base64');
}

const AWKWARD_BODIES: Record<string, string> = {
  'an empty body': '',
  'a body that is one line end': '\r\n',
  'a body of line ends only': '\r\n\r\n\r\n\r\n',
  'a body of blanks only': '  \t ',
  'a body of lines of blanks': ' \r\n\t\r\n  \t\r\n',
  'a body without a last line end': 'no end',
  'trailing blanks': 'one  \r\ntwo\t\r\nthree \t \r\n',
  'trailing empty lines': 'one\r\n\r\n\r\n',
  'trailing lines of blanks': 'one\r\n \r\n\t\t\r\n  ',
  'leading blanks and empty lines': '\r\n\r\n  \tone\r\n',
  'runs of blanks and tabs': 'a  b\t\tc \t d\te\r\n   f\r\n',
  'lone dots': '.\r\n..\r\n.a\r\n\r\n.\r\n',
  'very long lines': `${'x'.repeat(100_000)}\r\n${'y z '.repeat(30_000)}\r\n`,
  'controls and eight-bit octets': '\0\x01\x0b\x0c\x1f\x7f\x80\xa0\xff  \xe9\r\n',
  'one megabyte of base64': `${'QUJD'.repeat(19)}\r\n`.repeat(13_500),
  'one megabyte of indented text': `${' '.repeat(8)}<td>a  b</td>  \r\n`.repeat(37_000),
};

/** Hashes it in several turns, to the same result as in one go. */
async function expectTurns(message: Uint8Array): Promise<void> {
  let turns = 0;
  const hash = await bodyHashInTurns(message, 0, () => {
    turns += 1;
    return undefined;
  });
  expect(hash).toBe(bodyHash(message, 0));
  expect(turns).toBeGreaterThan(2);
}

describe('signMessage', () => {
  for (const [name, body] of Object.entries(AWKWARD_BODIES)) {
    it(`makes signatures that verify over ${name}`, async () => {
      expect(await verdicts(await signed(HEADERS, body, [rsaSigner, serviceSigner]))).toEqual([
        'pass',
        'pass',
      ]);
    });
  }

  it('signs headers that are folded, repeated, spaced with tabs or empty', async () => {
    const headers = [
      'Received: from a by b; x',
      'FROM :\tAnn\r\n\t<ann@example.com> ',
      'To: one@example.org,\r\n  two@example.org,\r\n\t three@example.org',
      'To: four@example.org',
      'Subject:',
      'cc:   \r\n \t x@example.org\t',
      'List-Unsubscribe:\r\n <https://example.com/u/1>,\r\n <mailto:u@example.com>',
      'List-Unsubscribe-Post: List-Unsubscribe=One-Click',
      'References: <1@a>\r\n\t<2@a>',
      'References: <3@a>',
      `X-Long: ${'word '.repeat(190)}`,
      'Content-Type: text/plain;\r\n\tcharset="utf-8"',
    ];
    expect(await verdicts(await signed(headers, 'x\r\n', [rsaSigner, serviceSigner]))).toEqual([
      'pass',
      'pass',
    ]);
  });

  it('puts the first signer on top and names domain, selector, times and canonicalisation', async () => {
    const { message, bodyOffset } = messageOf(HEADERS, 'x\r\n');
    const lines = Buffer.from(
      await signMessage(message, bodyOffset, [serviceSigner, rsaSigner], {
        nowMs: NOW_MS,
      }),
    ).toString();
    const [first, second] = lines.split(/(?=DKIM-Signature:)/).map((field) => field.replace(/\r\n /g, ' '));
    const t = NOW_MS / 1000;
    expect(first).toContain(
      `v=1; a=rsa-sha256; c=relaxed/relaxed; d=svc.example.net; s=pr2; t=${t}; x=${t + 14 * 86_400};`,
    );
    expect(second).toContain('a=rsa-sha256; c=relaxed/relaxed; d=example.com; s=pr1;');
    expect(second).not.toContain('l=');
    expect(lines.endsWith('\r\n')).toBe(true);
    for (const line of lines.split('\r\n')) expect(line.length).toBeLessThanOrEqual(76);
  });

  it('lists what is present, the named fields once more, and leaves the others out', async () => {
    const { message, bodyOffset } = messageOf(
      [...HEADERS, 'Return-Path: <>', 'X-Postrider-Ref: a-b', 'Feedback-ID: f', 'Bcc: z@example.org'],
      'x\r\n',
    );
    const lines = Buffer.from(
      await signMessage(message, bodyOffset, [rsaSigner], { nowMs: NOW_MS }),
    ).toString();
    const names = /h=([^;]*);/.exec(lines)?.[1]?.replace(/\s/g, '').split(':');
    expect(names).toEqual([
      ...['From', 'From', 'To', 'To', 'Cc', 'Subject', 'Subject', 'Date', 'Date', 'Message-ID', 'Message-ID'],
      ...['Reply-To', 'MIME-Version', 'Content-Type', 'Content-Type', 'Feedback-ID'],
    ]);
  });

  it('makes signatures that fail once a signed or an over-signed field is changed or added', async () => {
    const message = (await signed(HEADERS, 'body\r\n')).toString('latin1');
    const altered = [
      message.replace('Subject: Hello', 'Subject: Hallo'),
      message.replace('body', 'Body'),
      ...['From: <eve@example.com>', 'Cc: eve@example.org', 'Reply-To: eve@example.org', 'Subject: More'].map(
        (line) => message.replace('MIME-Version', `${line}\r\nMIME-Version`),
      ),
    ];
    for (const text of altered) {
      expect((await verdicts(Buffer.from(text, 'latin1')))[0]).not.toMatch(/^pass/);
    }
    const traced = `Received: from x by y\r\nX-Postrider-Ref: a-b\r\n${message}`;
    expect(await verdicts(Buffer.from(traced, 'latin1'))).toEqual(['pass']);
  });

  it('takes a body hash that was computed before', async () => {
    const { message, bodyOffset } = messageOf(HEADERS, 'x\r\n');
    const lines = await signMessage(message, bodyOffset, [rsaSigner, serviceSigner], {
      nowMs: NOW_MS,
      bodyHash: bodyHash(message, bodyOffset),
    });
    expect(await verdicts(Buffer.concat([lines, message]))).toEqual(['pass', 'pass']);
  });

  it.each([
    ['a bare LF in the body', HEADERS, 'a\nb\r\n'],
    ['a bare CR in the body', HEADERS, 'a\rb\r\n'],
    ['a CR as the last octet', HEADERS, 'a\r'],
    ['a bare LF at the end', HEADERS, 'a\r\n\n'],
    ['CR CR LF', HEADERS, 'a\r\r\n'],
    ['a body that starts with LF', HEADERS, '\n'],
    ['a bare LF after a blank', HEADERS, 'a \nb\r\n'],
    ['a bare CR after a blank', HEADERS, 'a \rb\r\n'],
    ['a bare LF in a header', ['From: a@example.com\nX: y'], 'x'],
    ['a bare CR in a header', ['From: a@example.com\rX: y'], 'x'],
    ['a header line without a colon', ['From: a@example.com', 'oops'], 'x'],
    ['a continuation line first', [' x', 'From: a@example.com'], 'x'],
    ['a field name with a blank in it', ['From: a@example.com', 'X y: z'], 'x'],
    ['no From field', ['To: a@example.com'], 'x'],
  ])('refuses a message with %s', async (_, headers, body) => {
    await expect(signed(headers, body)).rejects.toMatchObject({ name: 'DkimError', reason: 'malformed' });
  });

  it('refuses a body offset that is not right behind the blank line', async () => {
    const { message, bodyOffset } = messageOf(HEADERS, 'x\r\n\r\ny\r\n');
    for (const offset of [
      0,
      bodyOffset - 1,
      bodyOffset + 1,
      bodyOffset + 5,
      message.length + 1,
      Number.NaN,
    ]) {
      await expect(signMessage(message, offset, [rsaSigner], { nowMs: NOW_MS })).rejects.toBeInstanceOf(
        DkimError,
      );
    }
  });

  it('never gives a message back unsigned: no signer and a failing key reject', async () => {
    const { message, bodyOffset } = messageOf(HEADERS, 'x\r\n');
    const sign = (signers: readonly DkimSigner[]): Promise<Uint8Array> =>
      signMessage(message, bodyOffset, signers, { nowMs: NOW_MS });
    await expect(sign([])).rejects.toMatchObject({ reason: 'signer' });
    const broken = { ...rsaSigner, privateKey: rsa.publicKey };
    await expect(sign([rsaSigner, broken])).rejects.toMatchObject({ reason: 'crypto' });
  });

  it('verifies whatever the body', async () => {
    const piece = fc.constantFrom(
      ' ',
      '\t',
      '\r\n',
      '.',
      'a',
      'word',
      '=20',
      '\xe4',
      '\r\n\r\n',
      '  ',
      ' \r\n',
    );
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 60 }), async (pieces) => {
        expect(await verdicts(await signed(HEADERS, pieces.join(''), [serviceSigner]))).toEqual(['pass']);
      }),
      { numRuns: 150 },
    );
  });

  it('verifies whatever the folding of the headers', async () => {
    const piece = fc.constantFrom(' ', '\t', '\r\n ', '\r\n\t', 'a', ':', ';', 'word', '\xe4', '  ');
    const value = fc.array(piece, { maxLength: 12 }).map((pieces) => `${pieces.join('')}x`);
    const field = fc.tuple(fc.constantFrom('To', 'subject', 'REFERENCES', 'X-Other', 'Cc '), value);
    await fc.assert(
      fc.asyncProperty(fc.array(field, { maxLength: 12 }), async (fields) => {
        const headers = [...fields.map(([name, text]) => `${name}:${text}`), 'From: ann@example.com'];
        expect(await verdicts(await signed(headers, 'x\r\n', [serviceSigner]))).toEqual(['pass']);
      }),
      { numRuns: 150 },
    );
  });
});

describe('bodyHash', () => {
  it('knows the empty body of RFC 6376 §3.4.4', () => {
    expect(bodyHash(Buffer.from(''), 0)).toBe('47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=');
  });

  it.each([-1, 0.5, 2])('refuses the offset %d outside of the message', (offset) => {
    expect(() => bodyHash(Buffer.from('a'), offset)).toThrow(DkimError);
  });

  it('equals the rules applied line by line', () => {
    const piece = fc.oneof(
      fc.constantFrom(' ', '\t', '\r\n', '.', 'a', '  ', ' \t', '\0', '\x7f'),
      fc.integer({ min: 1, max: 6000 }).map((n) => 'x'.repeat(n)),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 200 }), fc.nat(5), (pieces, offset) => {
        const body = pieces.join('');
        const message = Buffer.from('#'.repeat(offset) + body, 'latin1');
        expect(bodyHash(message, offset)).toBe(plainBodyHash(body));
      }),
      { numRuns: 300 },
    );
  });

  it('is the same in portions, wherever they are cut', async () => {
    for (const unit of [
      'a  b',
      'a \r\n',
      '\tx',
      '\r\n',
      `${' '.repeat(4_001)}x`,
      `${'y'.repeat(70)}\r\n`,
      'z',
    ]) {
      for (const shift of [0, 1, 2, 3]) {
        const body = `${'#'.repeat(shift)}${unit.repeat(Math.ceil(1_200_000 / unit.length))}end \r\n\r\n`;
        const message = Buffer.from(body, 'latin1');
        await expectTurns(message);
      }
    }
    expect(await bodyHashInTurns(Buffer.from(' \r\n'), 0, () => undefined)).toBe(
      bodyHash(Buffer.from(''), 0),
    );
  });

  it.each([
    ['x', '\r\n', ''],
    ['x', ' \t\r\n', ''],
    ['x', ' ', '\r\n'],
    ['x', ' ', 'y\r\n'],
    ['x', '\t', '\r\ny'],
    ['', ' ', 'y'],
  ])('has turns in %j, megabytes of %j and %j', async (before, blanks, after) => {
    const text = `${before}${blanks.repeat(Math.ceil(4_000_000 / blanks.length))}${after}`;
    const message = Buffer.from(text, 'latin1');
    await expectTurns(message);
  });

  it('gathers many small changes over the size of its buffer', () => {
    for (const unit of [
      'a  b',
      'a \r\n',
      '\tx',
      `${'y'.repeat(2047)}  `,
      `${'y'.repeat(2048)}\t`,
      `${'z'.repeat(16_384)}  `,
    ]) {
      const body = `${unit.repeat(Math.ceil(100_000 / unit.length))}end\r\n`;
      expect(bodyHash(Buffer.from(body, 'latin1'), 0)).toBe(plainBodyHash(body));
    }
  });
});

describe('headerFields', () => {
  it('gives names in lower case and values as they stand', () => {
    const { message, bodyOffset } = messageOf(['Subject : a\r\n b', 'X:'], 'x');
    expect(headerFields(message, bodyOffset)).toEqual([
      { name: 'subject', value: ' a\r\n b' },
      { name: 'x', value: '' },
    ]);
  });

  it('canonicalises as the example of RFC 6376 §3.4.5 shows', () => {
    const { message, bodyOffset } = messageOf(['A: X', 'B : Y\t\r\n\tZ  '], ' C \r\nD \t E\r\n\r\n\r\n');
    expect(headerFields(message, bodyOffset).map(canonicalField)).toEqual(['a:X', 'b:Y Z']);
    expect(bodyHash(message, bodyOffset)).toBe(createHash('sha256').update(' C\r\nD E\r\n').digest('base64'));
  });
});

describe('createDkimSigner', () => {
  it('refuses names and keys that cannot sign', () => {
    const make = (change: Partial<DkimSigner>): DkimSigner => createDkimSigner({ ...rsaSigner, ...change });
    const small = generateKeyPairSync('rsa', { modulusLength: 768 }).privateKey;
    for (const change of [
      { domain: 'Example.com' },
      { domain: 'example.com; x' },
      { domain: 'localhost' },
      { selector: '' },
      { selector: 'a b' },
      { privateKey: generateKeyPairSync('ed25519').privateKey },
      { privateKey: rsa.publicKey },
      { privateKey: small },
    ]) {
      expect(() => make(change)).toThrow(DkimError);
    }
  });
});
