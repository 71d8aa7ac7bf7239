/** Arbitrary requests: JSON of every kind, and a complete request with any of its values replaced. */
import fc from 'fast-check';

/** Values for every documented field, so that each can be damaged. Few recipients: each costs a delivery. */
export function plausibleFields(): Record<string, unknown> {
  return {
    From: { name: 'Zoë', email: 'sender@example.com' },
    To: [{ name: 'R', email: 'r@example.net' }],
    CC: [{ email: 'c@example.net' }],
    BCC: [{ email: 'b@example.net' }],
    ReplyTo: [{ email: 'reply@example.org' }],
    Subject: 'A subject',
    ContentType: 'HTML',
    HTMLContent: '<p>Hello</p>',
    PlainContent: 'Hello',
    Tags: ['one'],
    Headers: { 'X-One': '1' },
    Attachments: [
      { Content: 'aGVsbG8=', Type: 'text/plain', Filename: 'a.txt', Disposition: 'attachment', ContentId: 1 },
    ],
    Priority: 'normal',
    Sandbox: false,
  };
}

const SEGMENTS = 'api v1 email webhooks events tokens .. %2e%2e %00 % 1'.split(' ');
const LISTS = 'events email webhooks domains tokens sandbox/messages me'.split(' ');
const PARAMETERS =
  'StartDate EndDate Event MessageID StartFrom RetrieveCount Recipient Tag After Limit From To Subject Status Since Until Domain Inbox'.split(
    ' ',
  );

/** Methods, paths and header pairs, known ones and noise. */
export function arbitraryHead() {
  const word = fc.string({ unit: 'binary-ascii', maxLength: 30 });
  const segment = fc.oneof(fc.constantFrom(...SEGMENTS, ''), word);
  return {
    method: fc.oneof(fc.constantFrom('GET', 'POST', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS', 'TRACE'), word),
    path: fc.array(segment, { maxLength: 6 }).map((segments) => `/${segments.join('/')}`),
    headers: fc.array(fc.tuple(word, word), { maxLength: 8 }),
  };
}

/** Parameters that some list knows, values that few expect. */
export function arbitraryQuery() {
  return {
    list: fc.constantFrom(...LISTS),
    name: fc.constantFrom(...PARAMETERS),
    value: fc.oneof(fc.string({ maxLength: 40 }), fc.integer().map(String), fc.double().map(String)),
  };
}

/** JSON of every kind, with texts that mean something to the layers below. */
export function arbitraryJson(): fc.Arbitrary<unknown> {
  const { value } = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4, depthSize: 'small' },
      arbitraryText(),
      fc.integer(),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.boolean(),
      fc.constant(null),
      fc.array(tie('value'), { maxLength: 4 }),
      fc.dictionary(arbitraryKey(), tie('value'), { maxKeys: 4 }),
    ),
  }));
  return value;
}

function arbitraryKey(): fc.Arbitrary<string> {
  return fc.oneof(
    fc.constantFrom(
      'email',
      'EMAIL',
      'name',
      'Content',
      'Filename',
      '__proto__',
      'constructor',
      'toString',
      '',
    ),
    fc.string({ maxLength: 10, unit: 'binary' }),
  );
}

function arbitraryText(): fc.Arbitrary<string> {
  return fc.oneof(
    fc.string({ maxLength: 40, unit: 'binary' }),
    fc.string({ maxLength: 200, unit: 'grapheme' }),
    fc.constantFrom(
      ...[
        'a@example.net',
        '"a b"@example.net',
        'a@b',
        'a@[127.0.0.1]',
        'ü@example.net',
        'a@xn--nxasmq6b.example',
      ],
      ...[
        '\r\nBcc: x@example.net',
        '.',
        '\r\n.\r\n',
        '\u0000',
        '\ud800',
        '\u202e',
        '=?utf-8?q?x?=',
        '%s%n',
        '$(x)',
      ],
      ...[
        'HTML',
        'Text',
        'plain',
        'inline',
        'aGVsbG8',
        'data:,x',
        '../../etc/passwd',
        'CON',
        'a.exe',
        'multipart/mixed',
      ],
    ),
    fc.integer({ min: 900, max: 3_000 }).map((n) => 'x'.repeat(n)),
  );
}

/** `whole` with one to three of its values, at any depth, replaced by anything, or removed, or repeated. */
export function mutations(whole: unknown): fc.Arbitrary<unknown> {
  const change = fc.record({
    place: fc.nat(),
    kind: fc.constantFrom<'replace' | 'remove' | 'repeat'>('replace', 'replace', 'remove', 'repeat'),
    value: arbitraryJson(),
  });
  return fc.array(change, { minLength: 1, maxLength: 3 }).map((changes) => {
    const copy = structuredClone(whole);
    for (const { place, kind, value } of changes) {
      const places = placesOf(copy);
      const target = places[place % places.length];
      if (target !== undefined) applyTo(target.holder, target.key, kind, value);
    }
    return copy;
  });
}

type Holder = Record<string, unknown> | unknown[];

function applyTo(holder: Holder, key: string, kind: 'replace' | 'remove' | 'repeat', value: unknown): void {
  if (Array.isArray(holder)) {
    const index = Number(key);
    if (kind === 'remove') holder.splice(index, 1);
    else if (kind === 'repeat') holder.push(structuredClone(holder[index]));
    else holder[index] = value;
  } else if (kind === 'remove') delete holder[key];
  else if (kind === 'repeat') holder[key.toUpperCase()] = structuredClone(holder[key]);
  else Object.defineProperty(holder, key, { value, enumerable: true, configurable: true, writable: true });
}

function placesOf(value: unknown): { holder: Holder; key: string }[] {
  if (typeof value !== 'object' || value === null) return [];
  const holder = value as Holder;
  return Object.keys(holder).flatMap((key) => [
    { holder, key },
    ...placesOf((holder as Record<string, unknown>)[key]),
  ]);
}
