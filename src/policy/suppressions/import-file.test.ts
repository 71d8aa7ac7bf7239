import { describe, expect, it } from 'vitest';
import { parseAddress } from '../../mail/address.ts';
import { type ImportWishes, PER_REQUEST, planImport, portionsOf, readSheet } from './import-file.ts';
import { PRESETS } from './import-presets.ts';

const NOW = Date.parse('2026-11-22T00:00:00Z');
const plan = (text: string, wishes: Partial<ImportWishes> = {}) =>
  planImport(readSheet(text), { reason: 'Manual', columns: {}, words: new Map(), ...wishes }, NOW);
const reasons = (text: string, wishes: Partial<ImportWishes> = {}) =>
  plan(text, wishes).items.map(({ item }) => item.Reason);

/** Exports as the services publish them; what each must become. */
const EXPORTS: readonly [preset: string, text: string, expected: readonly (string | undefined)[]][] = [
  [
    'postmark',
    'EmailAddress,SuppressionReason,Origin,CreatedAt\na@x.example,HardBounce,Recipient,2024-01-01\nb@x.example,SpamComplaint,Recipient,\nc@x.example,ManualSuppression,Recipient,\nd@x.example,ManualSuppression,Customer,',
    ['Bounce', 'Complaint', 'Unsubscribe', 'Manual'],
  ],
  [
    'postmark',
    '{"Suppressions":[{"EmailAddress":"a@x.example","SuppressionReason":"HardBounce","Origin":"Recipient","CreatedAt":"2019-12-17T08:58:33-05:00"}]}',
    ['Bounce'],
  ],
  [
    'ses',
    '{"SuppressedDestinationSummaries":[{"EmailAddress":"a@x.example","Reason":"BOUNCE","LastUpdateTime":"2024-01-01"},{"EmailAddress":"b@x.example","Reason":"COMPLAINT","LastUpdateTime":"2024-01-01"}]}',
    ['Bounce', 'Complaint'],
  ],
  ['mailgun-bounces', 'address,code,error,created_at\na@x.example,550,No such user,x', ['Bounce']],
  ['mailgun-unsubscribes', 'address,tags,created_at\na@x.example,*,x', ['Unsubscribe']],
  [
    'sendgrid-bounces',
    'status,reason,email,created\n5.1.1,550 no mailbox,a@x.example,1700000000',
    ['Bounce'],
  ],
  [
    'sendgrid-bounces',
    '[{"created":1,"email":"a@x.example","reason":"550 5.1.1","status":"5.1.1"}]',
    ['Bounce'],
  ],
  ['sendgrid-spam-reports', 'email,ip,created\na@x.example,192.0.2.1,1', ['Complaint']],
  ['sendgrid-invalid', 'email,reason,created\na@x.example,Mail domain unknown,1', ['Bounce']],
  [
    'mailchimp-cleaned',
    'Email Address,First Name,CLEAN_TIME,CLEAN_CAMPAIGN_TITLE\na@x.example,Ann,2024,May',
    ['Bounce'],
  ],
  [
    'mailchimp-unsubscribed',
    'Email Address,UNSUB_TIME,UNSUB_REASON\na@x.example,2024,NORMAL',
    ['Unsubscribe'],
  ],
  [
    'mandrill',
    'email,reason,detail,created_at,last_event_at,expires_at,expired,sender,subaccount\na@x.example,hard-bounce,550 gone,x,x,2027-01-01 00:00:00,false,,\nb@x.example,soft-bounce,full,x,x,2020-01-01 00:00:00,true,,\nc@x.example,unsub,,x,x,,false,,\nd@x.example,spam,,x,x,,false,,\ne@x.example,custom,,x,x,,false,,',
    ['Bounce', 'Unsubscribe', 'Complaint', 'Manual'],
  ],
  [
    'sparkpost',
    'recipient,type,source,description\na@x.example,transactional,Bounce Rule,550\nb@x.example,non_transactional,List Unsubscribe,\nc@x.example,transactional,Spam Complaint,\nd@x.example,transactional,Manually Added,',
    ['Bounce', 'Unsubscribe', 'Complaint', 'Manual'],
  ],
  [
    'brevo',
    '{"contacts":[{"email":"a@x.example","senderEmail":"s@y.example","reason":{"code":"hardBounce","message":"Hard bounce"},"blockedAt":"2024-01-01"},{"email":"b@x.example","senderEmail":"s@y.example","reason":{"code":"unsubscribedViaEmail","message":"x"},"blockedAt":"2024-01-01"},{"email":"c@x.example","senderEmail":"s@y.example","reason":{"code":"contactFlaggedAsSpam","message":"x"},"blockedAt":"2024-01-01"},{"email":"d@x.example","senderEmail":"s@y.example","reason":{"code":"adminBlocked","message":"x"},"blockedAt":"2024-01-01"}],"count":4}',
    ['Bounce', 'Unsubscribe', 'Complaint', 'Manual'],
  ],
  [
    'resend',
    'id,email,reason,created_at\n1,a@x.example,bounce,x\n2,b@x.example,complaint,x\n3,c@x.example,manual,x',
    ['Bounce', 'Complaint', 'Manual'],
  ],
];

describe('the export of another service', () => {
  it.each(EXPORTS)('%s is known by its columns, and its reasons are read', (preset, text, expected) => {
    const read = plan(text);
    expect([read.preset, read.items.map(({ item }) => item.Reason)]).toEqual([preset, expected]);
    expect([read.unknownReasons, read.invalid]).toEqual([new Map(), []]);
  });

  it('is known or can be named, every one of them', () => {
    const tried = new Set(EXPORTS.map(([preset]) => preset));
    const named = Object.entries(PRESETS).filter(([, { known }]) => known === undefined);
    for (const [preset, { reason }] of named) {
      tried.add(preset);
      expect(reasons('email,created\na@x.example,1', { preset })).toEqual([reason]);
      expect(reasons('address,created_at\na@x.example,1', { preset })).toEqual([reason]);
    }
    expect(tried).toEqual(new Set(Object.keys(PRESETS)));
  });

  it('is not taken for SendGrid’s where its reasons are words that are known', () => {
    expect(plan('email,reason,created\na@x.example,Complaint,1')).toMatchObject({
      preset: null,
      guessedReason: null,
    });
    expect(reasons('email,reason,created\na@x.example,Complaint,1')).toEqual(['Complaint']);
  });

  it('keeps what the far end said as a note, and a time without an offset as UTC', () => {
    const [mandrill] = plan(EXPORTS.find(([preset]) => preset === 'mandrill')?.[1] ?? '').items;
    expect(mandrill?.item).toEqual({
      Email: 'a@x.example',
      Reason: 'Bounce',
      Note: '550 gone',
      ExpiresAt: '2027-01-01T00:00:00Z',
    });
  });
});

describe('a file of one’s own', () => {
  it.each([
    'Email,Reason\na@x.example,Bounce',
    'e-mail;REASON\na@x.example;bounced',
    'Name\tEmail_Address\tSuppressionReason\nAnn\ta@x.example\tHardBounce',
    'a@x.example,BOUNCE',
    'BOUNCE;a@x.example',
    '\ufeff"Reason","Email"\n"hard bounce","a@x.example"',
    '{"emailAddress": "a@x.example", "reason": "BOUNCE"}\n',
    'Email;"Reason, if any";Reason\na@x.example;;hard',
  ])('%j is read by its names, whatever stands between the columns', (text) => {
    expect(plan(text).items.map(({ item }) => [item.Email, item.Reason])).toEqual([
      ['a@x.example', 'Bounce'],
    ]);
  });

  it('says which columns and words it did not understand, and keeps the word', () => {
    const read = plan(
      'Email,Warum,Reason\na@x.example,x,verzogen\nb@x.example,y,verzogen\nc@x.example,z,spam',
    );
    expect(read.unknownColumns).toEqual(['Warum']);
    expect(read.unknownReasons).toEqual(new Map([['verzogen', 2]]));
    expect(read.items[0]?.item).toEqual({ Email: 'a@x.example', Reason: 'Manual', Note: 'verzogen' });
    expect(read.byReason).toEqual(
      new Map([
        ['Manual', 2],
        ['Complaint', 1],
      ]),
    );
  });

  it('takes columns and words as they are named', () => {
    const text = 'Kontakt;Grund;Note\na@x.example;verzogen;x\n';
    const words = new Map([['verzogen', 'Bounce' as const]]);
    const named = plan(text, { columns: { Email: 0, Reason: 1 }, words });
    expect(named.items.map(({ item }) => item)).toEqual([
      { Email: 'a@x.example', Reason: 'Bounce', Note: 'x' },
    ]);
    expect(named.unknownColumns).toEqual([]);
    expect(plan(text).columns.Email).toBeUndefined();
    const without = plan(text, { columns: { Email: 0, Note: null } });
    expect(without.items.map(({ item }) => item.Note)).toEqual([undefined]);
    expect(without.unknownColumns).toEqual(['Grund', 'Note']);
  });

  it('names rows without an address by their line', () => {
    expect(plan('Email\na@x.example\nnobody\n\nb@x.example').invalid).toEqual([
      { line: 3, text: 'nobody', problem: 'has no @' },
    ]);
    expect(() => plan('')).toThrow('no rows');
  });

  it('is read where its lines end with CR alone', () => {
    expect(plan('Email,Reason\ra@x.example,Bounce\rb@x.example,Complaint\r')).toMatchObject({
      byReason: new Map([
        ['Bounce', 1],
        ['Complaint', 1],
      ]),
      unknownColumns: [],
    });
  });

  it('has no address with letters that are not UTF-8, which would match nobody', () => {
    const latin1 = Buffer.from(
      'Email,Reason,Note\nm\u00fcller@x.example,Bounce,\na@x.example,Bounce,gel\u00f6scht',
      'latin1',
    );
    const read = plan(latin1.toString('utf8'));
    expect(read.invalid).toEqual([
      { line: 2, text: 'm\ufffdller@x.example', problem: 'has letters that are not UTF-8' },
    ]);
    expect(read.items.map(({ item }) => item.Email)).toEqual(['a@x.example']);
  });

  it('is refused where it is UTF-16 or the format of a spreadsheet', () => {
    for (const bytes of [
      Buffer.from('\ufeffEmail\na@x.example', 'utf16le'),
      Buffer.from('PK\u0003\u0004\u0014\0@'),
    ])
      expect(() => plan(bytes.toString('utf8'))).toThrow('save it as CSV in UTF-8');
  });

  it('says that nothing in it is a reason, unless it has addresses alone', () => {
    const lacks = (text: string, wishes: Partial<ImportWishes> = {}) => plan(text, wishes).lacksReason;
    // Exports of Mailgun (complaints) and SendGrid (unsubscribes) look like this.
    expect(lacks('address,created_at\na@x.example,x')).toBe(true);
    expect(lacks('email,created\na@x.example,1')).toBe(true);
    expect(lacks('email,created\na@x.example,1', { preset: 'sendgrid-unsubscribes' })).toBe(false);
    for (const text of ['Email\na@x.example', 'a@x.example\nb@x.example', 'email,reason\na@x.example,'])
      expect(lacks(text)).toBe(false);
  });

  it('leaves out what the API would refuse, for the same reason', () => {
    const texts = ['a@b', 'a b@x.example', '.a@x.example', 'a@-x.example', `${'a'.repeat(65)}@x.example`];
    const read = plan(`Email\n${texts.join('\n')}\nfine@x.example`);
    expect(read.items).toHaveLength(1);
    for (const { text, problem } of read.invalid) expect(parseAddress(text)).toEqual({ ok: false, problem });
    expect(read.invalid).toHaveLength(texts.length);
  });
});

it('rows are sent in portions of what the API takes at once, and of bounded size', () => {
  const sizes = (count: number, note: string) =>
    Array.from(
      portionsOf(Array.from({ length: count }, () => ({ item: { Email: 'a@example.net', Note: note } }))),
      (portion) => portion.length,
    );
  expect(sizes(0, '')).toEqual([]);
  expect(sizes(PER_REQUEST, '')).toEqual([PER_REQUEST]);
  expect(sizes(2 * PER_REQUEST + 1, '')).toEqual([PER_REQUEST, PER_REQUEST, 1]);
  expect(sizes(4, 'x'.repeat(100_000))).toEqual([2, 2]);
  expect(sizes(2, 'x'.repeat(300_000))).toEqual([1, 1]);
});
