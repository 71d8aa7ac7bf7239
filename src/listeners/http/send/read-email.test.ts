import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cpuMsOf } from '../../../../test/fakes/thread-cpu.ts';
import { AppError, ERRORS } from '../../../lib/errors.ts';
import { SUBMISSION_DEFAULTS } from '../../../model/submission.ts';
import { decodeBase64 } from './attachments.ts';
import { DEFAULT_EMAIL_LIMITS } from './limits.ts';
import { type EmailRead, parseEmailBody, readEmailObject } from './read-email.ts';

const OPTIONS = { strict: false, blockedExtensions: new Set<string>(), nowMs: 1_790_000_000_000 };
const MAIL = {
  From: { name: 'Ann', email: 'ann@Example.com' },
  To: [{ name: 'Bob', email: 'bob@example.net' }],
  Subject: 'Hello',
  ContentType: 'HTML',
  HTMLContent: '<p>Hi</p>',
};
const FILE = { Content: 'aGk=', Type: 'text/plain', Filename: 'a.txt', Disposition: 'attachment' };

const read = (value: unknown, options = OPTIONS) =>
  readEmailObject(parseEmailBody(Buffer.from(JSON.stringify(value))), DEFAULT_EMAIL_LIMITS, options);
const readText = (text: string) => readBytes(Buffer.from(text));

/** What is no JSON throws its problem. */
function readBytes(bytes: Uint8Array): EmailRead {
  try {
    return readEmailObject(parseEmailBody(bytes), DEFAULT_EMAIL_LIMITS, OPTIONS);
  } catch (thrown) {
    if (thrown instanceof AppError) return { ok: false, problems: thrown.problems };
    throw thrown;
  }
}

function accepted(value: unknown) {
  const result = read(value);
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  return result.submission;
}

/** `code field` of each problem. */
function refusals(result: ReturnType<typeof read>): string[] {
  if (result.ok) return [];
  return result.problems.map((p) => `${ERRORS[p.name].code} ${p.field ?? ''}`.trim());
}

const people = (count: number, prefix = 'r') =>
  Array.from({ length: count }, (_, i) => ({ email: `${prefix}${i}@example.net` }));

describe('a whole request', () => {
  it('becomes a submission with canonical addresses', () => {
    expect(accepted(MAIL)).toEqual({
      from: { name: 'Ann', address: 'ann@example.com' },
      ...SUBMISSION_DEFAULTS,
      fromDomain: 'example.com',
      recipients: [{ name: 'Bob', address: 'bob@example.net', domain: 'example.net', kind: 'To' }],
      subject: 'Hello',
      body: { kind: 'html', html: '<p>Hi</p>', text: undefined },
    });
  });

  it('reads the shapes that real clients send', () => {
    const plugin = accepted({
      From: { Name: 'Site', Email: 'site@example.com' },
      To: [{ Email: 'bob@example.net' }],
      Cc: [{ Email: 'c@example.net', Name: '' }],
      Bcc: [{ Email: 'd@example.net' }],
      Subject: 'S',
      ContentType: 'html',
      HTMLContent: '<b>x</b>',
      PlainContent: 'x',
      Headers: { 'X-Mailer': 'plugin/1.0' },
      Attachments: [{ ...FILE, ContentId: '' }],
    });
    expect(plugin.recipients.map((r) => r.kind)).toEqual(['To', 'CC', 'BCC']);
    expect(plugin.body).toEqual({ kind: 'html', html: '<b>x</b>', text: 'x' });
    expect(plugin.attachments[0]?.contentId).toBeNull();
    const sdk = accepted({
      ...MAIL,
      HTMLContent: undefined,
      ContentType: 'Text',
      PlainContent: 'hi',
      Attachments: [{ ...FILE, ContentID: 4294967295 }],
    });
    expect(sdk.body).toEqual({ kind: 'text', text: 'hi' });
    expect(sdk.attachments[0]?.contentId).toBe('4294967295');
  });

  it('lists at most 25 problems, in documented field order', () => {
    expect(refusals(read({}))).toEqual([
      '3 /From',
      '20 /To',
      '8 /Subject',
      '9 /ContentType',
      '10 /HTMLContent',
    ]);
    const many = refusals(read({ To: people(40).map(() => ({})), Subject: '' }));
    expect(many).toHaveLength(25);
    expect(many[0]).toBe('3 /From');
  });

  it.each([
    ['[]', 'an array'],
    ['"x"', 'a text'],
    ['null', 'null'],
    ['{', 'half an object'],
    ['', 'nothing'],
  ])('refuses %s (%s) as no JSON object', (text) => {
    expect(refusals(readText(text))).toEqual(['1001']);
  });

  it('tolerates a byte order mark and refuses invalid UTF-8', () => {
    expect(readText(`\ufeff${JSON.stringify(MAIL)}`).ok).toBe(true);
    const broken = Buffer.from(JSON.stringify(MAIL).replace('Hello', 'He\xff'), 'latin1');
    expect(refusals(readBytes(broken))).toEqual(['1001']);
  });

  it('survives a body nested 20,000 deep', () => {
    const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`;
    expect(readText(JSON.stringify(MAIL).replace('"Hello"', deep)).ok).toBe(false);
    expect(readText(deep).ok).toBe(false);
    expect(readText(JSON.stringify({ ...MAIL, x: 1 }).replace('"x":1', `"x":${deep}`)).ok).toBe(true);
  });
});

describe('property names', () => {
  it('prefers the exact spelling, and reports two others', () => {
    expect(accepted({ ...MAIL, subject: 'other', SUBJECT: 'third' }).subject).toBe('Hello');
    const { Subject: _, ...rest } = MAIL;
    expect(refusals(read({ ...rest, subject: 'a', SUBJECT: 'b' }))).toEqual(['1007 /Subject']);
    expect(refusals(read({ ...MAIL, From: { EMAIL: 'a@example.com', Email: 'b@example.com' } }))).toEqual([
      '1007 /From/email',
    ]);
  });

  it('takes the empty list that PHP writes for an object without members', () => {
    expect(accepted({ ...MAIL, Headers: [], Metadata: [], Variables: [] }).metadata).toEqual({});
  });

  it('takes null as absent and unknown names as nothing, unless strict', () => {
    const extra = { ...MAIL, CC: null, Sbuject: 'x', __proto__x: 1 };
    expect(read(extra).ok).toBe(true);
    expect(refusals(read({ ...MAIL, Sbuject: 'x' }, { ...OPTIONS, strict: true }))).toEqual([
      '1006 /Sbuject',
    ]);
    expect(refusals(read({ ...MAIL, Headers: { X: 'ok' } }, { ...OPTIONS, strict: true }))).toEqual([]);
  });

  it('says how to give a header that the service writes, and what a value may not have', () => {
    const result = read({ ...MAIL, Headers: { 'Reply-To': 'a@example.com', Date: 'now', 'X-A': 'a\nb' } });
    expect(result.ok ? [] : result.problems.map(({ message }) => message)).toEqual([
      'Reply-To is set by the service and is given as ReplyTo, beside Headers',
      'Date is set by the service and cannot be given',
      'The value of X-A has a line break or another control character, or more than 995 octets',
    ]);
  });

  it('keeps __proto__ and its like as data', () => {
    const text = JSON.stringify(MAIL).replace('{', '{"__proto__":{"Sandbox":true,"CC":1},"constructor":1,');
    const result = readText(text);
    expect(result.ok && result.submission.sandbox).toBe(null);
    const headers = readText(JSON.stringify({ ...MAIL, Headers: 0 }).replace('0}', '{"__proto__":"x"}}'));
    expect(headers.ok && headers.submission.headers).toEqual([['__proto__', 'x']]);
    expect(({} as Record<string, unknown>).Sandbox).toBeUndefined();
  });

  it('folds only ASCII', () => {
    expect(read({ ...MAIL, 'Trac\u212aing': {} }).ok).toBe(true);
  });
});

describe('addresses', () => {
  it.each<[string, object, string[]]>([
    ['no From.email', { From: { name: 'x' } }, ['3 /From/email']],
    ['an empty From.email', { From: { email: ' ' } }, ['3 /From/email']],
    ['From as a text', { From: 'a@example.com' }, ['3 /From']],
    ['a From that is no address', { From: { email: 'x' } }, ['23 /From/email']],
    ['a From that is a number', { From: { email: 1 } }, ['23 /From/email']],
    ['To as an object', { To: { email: 'a@example.com' } }, ['1105 /To']],
    ['an empty To', { To: [] }, ['20 /To']],
    ['51 in To', { To: people(51) }, ['20 /To']],
    ['an item without an email', { To: [{ name: 'x' }] }, ['18 /To/0/email']],
    ['a text in To', { To: ['Bob <b@example.net>'] }, ['18 /To/0']],
    ['a bad address in To', { To: [{ email: 'b@localhost' }] }, ['19 /To/0/email']],
    ['CC as a text', { CC: 'x' }, ['1106 /CC']],
    ['51 in CC', { CC: people(51) }, ['1102 /CC']],
    ['CC without email', { CC: [{}] }, ['21 /CC/0/email']],
    ['a bad CC', { CC: [{ email: 'x@y' }] }, ['22 /CC/0/email']],
    ['BCC as a number', { BCC: 5 }, ['24 /BCC']],
    ['BCC without email', { BCC: [null] }, ['25 /BCC/0']],
    ['a bad BCC', { BCC: [{ email: '"q"@example.net' }] }, ['26 /BCC/0/email']],
    ['51 in BCC', { BCC: people(51) }, ['27 /BCC']],
    ['ReplyTo as an object', { ReplyTo: {} }, ['28 /ReplyTo']],
    ['ReplyTo without email', { ReplyTo: [{}] }, ['29 /ReplyTo/0/email']],
    ['a bad ReplyTo', { ReplyTo: [{ email: 'x' }] }, ['30 /ReplyTo/0/email']],
    ['11 in ReplyTo', { ReplyTo: people(11) }, ['31 /ReplyTo']],
    ['26 and 26 recipients', { To: people(26), CC: people(26, 'c') }, ['1101 /To']],
    [
      'a line break in a name',
      { From: { name: 'a\r\nBcc: x', email: 'a@example.com' } },
      ['1107 /From/name'],
    ],
    ['a long name', { From: { name: 'x'.repeat(257), email: 'a@example.com' } }, ['1107 /From/name']],
    ['a name that is a number', { From: { name: 1, email: 'a@example.com' } }, ['1108 /From/name']],
  ])('refuses %s', (_name, part, expected) => {
    expect(refusals(read({ ...MAIL, ...part }))).toEqual(expected);
  });

  it('takes 50 recipients and merges duplicates, To before CC before BCC', () => {
    expect(accepted({ ...MAIL, To: people(50) }).recipients).toHaveLength(50);
    const merged = accepted({
      ...MAIL,
      To: [{ email: 'a@EXAMPLE.net' }, { email: 'a@example.net' }],
      CC: [{ email: 'a@example.net' }, { email: 'A@example.net' }],
      BCC: [{ email: 'A@example.net' }, { email: 'z@example.net' }],
    });
    expect(merged.recipients.map((r) => [r.kind, r.address])).toEqual([
      ['To', 'a@example.net'],
      ['CC', 'A@example.net'],
      ['BCC', 'z@example.net'],
    ]);
  });
});

describe('contents', () => {
  it.each<[string, object, string[]]>([
    ['no Subject', { Subject: undefined }, ['8 /Subject']],
    ['a blank Subject', { Subject: '  ' }, ['8 /Subject']],
    ['a Subject with a line break', { Subject: 'a\nBcc: x' }, ['1202 /Subject']],
    ['a long Subject', { Subject: 'x'.repeat(999) }, ['1201 /Subject']],
    ['a Subject that is a list', { Subject: ['x'] }, ['1108 /Subject']],
    ['no ContentType', { ContentType: undefined }, ['9 /ContentType']],
    ['an unknown ContentType', { ContentType: 'markdown' }, ['1203 /ContentType']],
    ['no HTMLContent', { HTMLContent: undefined }, ['10 /HTMLContent']],
    ['an empty HTMLContent', { HTMLContent: '' }, ['10 /HTMLContent']],
    ['HTML over 5 MiB', { HTMLContent: 'x'.repeat(5 * 1024 * 1024 + 1) }, ['1204 /HTMLContent']],
    ['a PlainContent over 5 MiB', { PlainContent: 'é'.repeat(3 * 1024 * 1024) }, ['1205 /PlainContent']],
    ['Text with neither content', { ContentType: 'Text', HTMLContent: '' }, ['11 /PlainContent']],
    ['HTMLContent as an object', { HTMLContent: {} }, ['1108 /HTMLContent']],
  ])('refuses %s', (_name, part, expected) => {
    expect(refusals(read({ ...MAIL, ...part }))).toEqual(expected);
  });

  it.each(['HTML', 'html', 'text/html', 'Text/HTML'])('takes %s for HTML', (word) => {
    expect(accepted({ ...MAIL, ContentType: word }).body.kind).toBe('html');
  });
  it.each(['Text', 'plain', 'TEXT/PLAIN'])('takes %s for text', (word) => {
    expect(accepted({ ...MAIL, ContentType: word, PlainContent: 'x' }).body).toEqual({
      kind: 'text',
      text: 'x',
    });
  });

  it('gives PlainContent its three meanings beside HTML', () => {
    const text = (plain: unknown) => {
      const { body } = accepted({ ...MAIL, PlainContent: plain });
      return body.kind === 'html' ? body.text : body;
    };
    expect([text(undefined), text(''), text('alt')]).toEqual([undefined, null, 'alt']);
  });

  it('takes the HTML for the text where a Text mail has only that', () => {
    expect(accepted({ ...MAIL, ContentType: 'Text' }).body).toEqual({
      kind: 'text-of-html',
      html: MAIL.HTMLContent,
    });
  });
});

describe('tags and headers', () => {
  it('trims tags and drops duplicates', () => {
    expect(accepted({ ...MAIL, Tags: [' a, b ', 'a, b', 'c'] }).tags).toEqual(['a, b', 'c']);
  });

  it.each<[string, object, string[]]>([
    ['11 tags', { Tags: Array.from({ length: 11 }, (_, i) => `t${i}`) }, ['1301 /Tags']],
    ['an empty tag', { Tags: [''] }, ['1302 /Tags/0']],
    ['a tag with a control', { Tags: ['a\u0000'] }, ['1302 /Tags/0']],
    ['tags as a text', { Tags: 'a' }, ['1108 /Tags']],
    ['a header with a line break', { Headers: { X: 'a\r\nBcc: b' } }, ['1404 /Headers/X']],
    ['a header that is an object', { Headers: { X: {} } }, ['1404 /Headers/X']],
    ['a header name with a blank', { Headers: { 'X Y': 'a' } }, ['1402 /Headers/X Y']],
    ['a header name with a colon', { Headers: { 'X:': 'a' } }, ['1402 /Headers/X:']],
    ['a list id beyond ASCII', { Headers: { 'List-Id': 'x <ünï.example>' } }, ['1404 /Headers/List-Id']],
    ['Bcc', { Headers: { bCc: 'a@b.example' } }, ['1403 /Headers/bCc']],
    ['Content-Type', { Headers: { 'content-type': 'x' } }, ['1403 /Headers/content-type']],
    ['our own headers', { Headers: { 'X-Postrider-Tag': 'x' } }, ['1403 /Headers/X-Postrider-Tag']],
    [
      'one header twice',
      { Headers: { References: '<a@b>', references: '<c@d>' } },
      ['1007 /Headers/references'],
    ],
    ['headers as a list', { Headers: ['X: y'] }, ['1108 /Headers']],
    [
      '51 headers',
      { Headers: Object.fromEntries(Array.from({ length: 51 }, (_, i) => [`X-${i}`, 'y'])) },
      ['1401 /Headers'],
    ],
    [
      '17 KiB of headers',
      { Headers: Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`X-${i}`, 'y'.repeat(900)])) },
      ['1401 /Headers'],
    ],
  ])('refuses %s', (_name, part, expected) => {
    expect(refusals(read({ ...MAIL, ...part }))).toEqual(expected);
  });

  it('writes numbers and booleans as text and leaves null out', () => {
    expect(accepted({ ...MAIL, Headers: { A: 1, B: true, C: null, D: 'd' } }).headers).toEqual([
      ['A', '1'],
      ['B', 'true'],
      ['D', 'd'],
    ]);
  });
});

describe('attachments', () => {
  const withFile = (part: object) => ({ ...MAIL, Attachments: [{ ...FILE, ...part }] });

  it.each<[unknown, string | null]>([
    [0, '0'],
    ['0', '0'],
    [4294967295, '4294967295'],
    [-5, '-5'],
    ['', null],
    [null, null],
    ['<logo@x>', 'logo@x'],
    [1e21, '1000000000000000000000'],
  ])('reads the ContentId %j as %j', (given, expected) => {
    expect(accepted(withFile({ ContentId: given })).attachments[0]?.contentId).toBe(expected);
  });

  it('keeps every digit of a 64-bit ContentId', () => {
    const json = JSON.stringify(withFile({ ContentId: 'X' })).replace('"X"', '-9223372036854775807');
    const result = readText(json);
    expect(result.ok && result.submission.attachments[0]?.contentId).toBe('-9223372036854775807');
  });

  it.each<[string, object, string]>([
    ['a fractional ContentId', { ContentId: 1.5 }, '1507 /Attachments/0/ContentId'],
    ['a ContentId with a blank', { ContentId: 'a b' }, '1507 /Attachments/0/ContentId'],
    ['a ContentId that is a list', { ContentId: [] }, '1507 /Attachments/0/ContentId'],
    ['inline without a ContentId', { Disposition: 'Inline' }, '1506 /Attachments/0/ContentId'],
    ['an unknown Disposition', { Disposition: 'form-data' }, '1505 /Attachments/0/Disposition'],
    ['no Filename', { Filename: undefined }, '1504 /Attachments/0/Filename'],
    ['a Filename with a line break', { Filename: 'a\r\n' }, '1504 /Attachments/0/Filename'],
    ['a Filename that is only a path', { Filename: 'a/b/' }, '1504 /Attachments/0/Filename'],
    ['no Content', { Content: undefined }, '1502 /Attachments/0/Content'],
    ['padding alone', { Content: '====' }, '1503 /Attachments/0/Content'],
    ['a data: URI', { Content: 'data:text/plain;base64,aGk=' }, '1503 /Attachments/0/Content'],
    ['text that is no base64', { Content: 'a*b=' }, '1503 /Attachments/0/Content'],
    ['a Type without a slash', { Type: 'text' }, '1510 /Attachments/0/Type'],
    ['a Type with a line break', { Type: 'a/b\r\nX: y' }, '1510 /Attachments/0/Type'],
  ])('refuses %s', (_name, part, expected) => {
    expect(refusals(read(withFile(part)))).toEqual([expected]);
  });

  it('takes an inline calendar with a method without a ContentId, and no other', () => {
    const calendar = (Type: string) => withFile({ Filename: 'a.ics', Disposition: 'inline', Type });
    expect(accepted(calendar('Text/Calendar; Method=REQUEST')).attachments[0]?.disposition).toBe('inline');
    expect(refusals(read(calendar('text/calendar; charset=utf-8')))).toEqual([
      '1506 /Attachments/0/ContentId',
    ]);
  });

  it('cuts paths off names, guesses types and never sends mail inside mail as mail', () => {
    const [file] = accepted(withFile({ Filename: '../..\\x/r.PDF', Type: undefined })).attachments;
    expect([file?.filename, file?.type]).toEqual(['r.PDF', 'application/pdf']);
    expect(accepted(withFile({ Type: 'message/rfc822' })).attachments[0]?.type).toBe(
      'application/octet-stream',
    );
  });

  it('refuses two inline files of one id, 101 files, and blocked names', () => {
    const inline = { ...FILE, Disposition: 'inline', ContentId: 'x' };
    expect(refusals(read({ ...MAIL, Attachments: [inline, inline] }))).toEqual([
      '1508 /Attachments/1/ContentId',
    ]);
    expect(refusals(read({ ...MAIL, Attachments: Array(101).fill(FILE) }))).toEqual(['1501 /Attachments']);
    const blocking = { ...OPTIONS, blockedExtensions: new Set(['exe']) };
    expect(refusals(read(withFile({ Filename: 'a.EXE. ' }), blocking))).toEqual([
      '1509 /Attachments/0/Filename',
    ]);
  });

  it('decodes every base64 text as the platform would, and nothing else', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.nat(), (bytes, cut) => {
        const text = Buffer.from(bytes).toString('base64');
        const at = cut % (text.length + 1);
        const forms = [
          text,
          text.replace(/=+$/, ''),
          Buffer.from(bytes).toString('base64url'),
          `${text.slice(0, at)}\r\n ${text.slice(at)}\r\n`,
        ];
        for (const form of forms)
          expect(Buffer.from(decodeBase64(form) ?? [1, 2, 3])).toEqual(Buffer.from(bytes));
        expect(decodeBase64(`${text.slice(0, at)}*${text.slice(at)}`)).toBeNull();
      }),
    );
  });
});

describe('extension fields', () => {
  it('takes Priority and Sandbox', () => {
    const mail = accepted({ ...MAIL, Priority: 'Critical', Sandbox: { Result: 'SoftBounce' } });
    expect([mail.lane, mail.sandbox]).toEqual(['critical', 'softbounce']);
    expect(accepted({ ...MAIL, Sandbox: true }).sandbox).toBe('deliver');
    expect(refusals(read({ ...MAIL, Priority: 'urgent' }))).toEqual(['1605 /Priority']);
    expect(refusals(read({ ...MAIL, Sandbox: { Result: 'x' } }))).toEqual(['1603 /Sandbox/Result']);
    expect(refusals(read({ ...MAIL, Sandbox: 'yes' }))).toEqual(['1603 /Sandbox']);
  });

  it('takes Tracking and ListUnsubscribe, each member by itself', () => {
    const wish = (fields: object) => accepted({ ...MAIL, ...fields }).personal;
    expect(wish({})).toBeUndefined();
    expect(wish({ Tracking: { opens: true } })).toEqual({ opens: true, clicks: null, listUnsubscribe: null });
    expect(wish({ Tracking: false, ListUnsubscribe: true })).toEqual({
      opens: false,
      clicks: false,
      listUnsubscribe: true,
    });
    expect(refusals(read({ ...MAIL, Tracking: 'yes' }))).toEqual(['1610 /Tracking']);
    expect(refusals(read({ ...MAIL, Tracking: { Clicks: 1 } }))).toEqual(['1610 /Tracking/Clicks']);
    expect(refusals(read({ ...MAIL, ListUnsubscribe: 'on' }))).toEqual(['1611 /ListUnsubscribe']);
  });
});

describe('hostile input', () => {
  const fields = [
    'From',
    'To',
    'CC',
    'BCC',
    'ReplyTo',
    'Subject',
    'ContentType',
    'HTMLContent',
    'PlainContent',
  ];
  const more = ['Tags', 'Headers', 'Attachments', 'Priority', 'Sandbox', 'SendAt', 'Variables'];

  function check(result: ReturnType<typeof read>) {
    if (result.ok) {
      expect(result.submission.recipients.length).toBeGreaterThan(0);
      return;
    }
    expect(result.problems.length).toBeLessThanOrEqual(25);
    for (const problem of result.problems) {
      expect(problem.name in ERRORS).toBe(true);
      expect(problem.name).not.toBe('internal');
    }
  }

  it('never throws for any JSON value at any field', () => {
    const value = fc.oneof(
      fc.jsonValue({ maxDepth: 4 }),
      fc.array(
        fc.record(
          {
            email: fc.oneof(fc.emailAddress(), fc.string(), fc.jsonValue()),
            name: fc.oneof(fc.string({ unit: 'binary' }), fc.jsonValue()),
            Content: fc.oneof(fc.base64String(), fc.jsonValue()),
            Filename: fc.oneof(fc.string(), fc.jsonValue()),
            Type: fc.oneof(fc.string(), fc.jsonValue()),
            ContentId: fc.oneof(fc.double(), fc.string(), fc.jsonValue()),
            Disposition: fc.constantFrom('inline', 'attachment', 'x', 1),
          },
          { requiredKeys: [] },
        ),
        { maxLength: 60 },
      ),
    );
    const body = fc.dictionary(fc.constantFrom(...fields, ...more, 'subject', '__proto__'), value);
    fc.assert(
      fc.property(body, fc.boolean(), (parts, strict) => {
        check(read({ ...MAIL, ...parts }, { ...OPTIONS, strict }));
        check(read(parts, { ...OPTIONS, strict }));
      }),
      { numRuns: 300 },
    );
  });

  it('throws nothing but problems, for any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400 }), (bytes) => {
        check(readBytes(bytes));
      }),
    );
  });

  it.each<[string, object]>([
    ['400,000 bad recipients', { To: Array(400_000).fill({}) }],
    ['a 50,000 character address', { To: [{ email: `${'a.'.repeat(25_000)}@example.net` }] }],
    ['400,000 tags', { Tags: Array(400_000).fill('x') }],
    [
      'a hundred thousand unknown names',
      Object.fromEntries(Array.from({ length: 100_000 }, (_, i) => [`k${i}`, 1])),
    ],
  ])('takes %s with little work', (_name, part) => {
    const body = Buffer.from(JSON.stringify({ ...MAIL, ...part }));
    const ms = cpuMsOf(() =>
      check(readEmailObject(parseEmailBody(body), DEFAULT_EMAIL_LIMITS, { ...OPTIONS, strict: true })),
    );
    expect(ms).toBeLessThan(3_000);
  });
});
