/**
 * What the readers of returned mail make of a corpus written by hand from what such mail looks like, and that nothing
 * made from it, cut, nested, repeated or garbled, makes them fail or slow.
 */
import { readdirSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cpuMsOf } from '../fakes/thread-cpu.ts';
import { readAttachedComplaint, readFeedbackReport } from '../../src/mail/arf.ts';
import { autoReplySign } from '../../src/mail/auto-reply.ts';
import { readTextBounce, withReasonsOf } from '../../src/mail/bounce-text.ts';
import { readDsn } from '../../src/mail/dsn.ts';
import { readMime } from '../../src/mail/mime-tree.ts';
import { createReturnPathTokens } from '../../src/mail/verp.ts';
import { returnTarget } from '../../src/pipeline/events/return-target.ts';

const FOLDER = new URL('./returns/', import.meta.url);
const names = readdirSync(FOLDER).filter((name) => name.endsWith('.eml'));
const load = (name: string) => Buffer.from(readFileSync(new URL(name, FOLDER), 'latin1').replace(/\r?\n/g, '\r\n'), 'latin1');
const tokens = createReturnPathTokens([{ id: 1, secret: new Uint8Array(32).fill(7) }]);

/** Everything that reads returned mail, over the same octets. */
function readAll(bytes: Uint8Array) {
  const mail = readMime(bytes);
  const fields = readDsn(mail);
  return {
    mail,
    report: fields === null ? readTextBounce(mail) : withReasonsOf(mail, fields),
    feedback: readFeedbackReport(mail),
    sign: autoReplySign(mail),
  };
}

/** `action final (for original, if that differs) status "words"` of each recipient. */
function summary(name: string): string[] {
  const { report } = readAll(load(name));
  return (report?.recipients ?? []).map(
    ({ action, finalRecipient, originalRecipient, status, diagnostic }) => {
      const origin = (originalRecipient ?? finalRecipient) === finalRecipient ? '' : ` for ${originalRecipient}`;
      return `${action} ${finalRecipient}${origin} ${status ?? '-'} ${diagnostic}`;
    },
  );
}

describe('reports of failure', () => {
  const EXPECTED: Record<string, string[]> = {
    'dsn-postfix': ['failed ann@reader.example 5.1.1 unknown user: "ann"'],
    'dsn-three-recipients': [
      'delayed one@reader.example 4.4.1 ',
      'failed two@reader.example 5.2.2 552-5.2.2 The mailbox is full',
      'relayed three@reader.example 2.0.0 ',
    ],
    'dsn-base64-status': ['failed ann@reader.example 5.7.1 550 5.7.1 Message rejected as spam'],
    'dsn-exim-local': [
      'failed ann@reader.example 5.0.0 Mailbox is full / Blocks limit exceeded / Inode limit exceeded',
      'failed bob@reader.example 5.0.0 No Such User Here',
      'failed eve@elsewhere.example 5.0.0 550 5.7.1 Refused',
    ],
    'dsn-exim-forwarded': [
      'failed gone@elsewhere.example for fwd@exim.example 5.0.0 550 5.1.1 <gone@elsewhere.example>: Recipient address rejected: User unknown in virtual mailbox table',
    ],
    'dsn-exim-undisclosed': [
      'failed an undisclosed address for hidf@exim.example 5.0.0 550 5.1.1 <gone@elsewhere.example>: Recipient address rejected: User unknown in virtual mailbox table',
    ],
    'dsn-sendmail-forwarded': [
      'failed gone@elsewhere.example for fwd@sendmail.example 5.1.1 550 5.1.1 <gone@elsewhere.example>: Recipient address rejected: User unknown in virtual mailbox table',
    ],
    'dsn-sendmail-exit-code': [
      'failed late@sendmail.example 5.1.1 550 5.1.1 <late@sendmail.example>... User unknown',
    ],
    'dsn-opensmtpd': ['failed late@smtpd.example 5.3.0 "mailbox broken"'],
    'dsn-opensmtpd-expired': ['failed tmp@smtpd.example 4.4.7 Envelope expired'],
    'dsn-without-action': ['failed ann@reader.example 5.1.1 '],
    'text-exim': ['failed ann@reader.example 5.1.1 550 5.1.1 No such mailbox'],
    'text-exim-warning': ['delayed ann@reader.example - Delay reason: connection timed out'],
    'text-qmail': [
      'failed ann@reader.example 5.1.1 Sorry, no mailbox here by that name. (#5.1.1)',
      'failed bob@reader.example 5.2.2 552 5.2.2 Mailbox over quota Giving up on 192.0.2.30.',
    ],
    'text-postfix': [
      'failed ann@reader.example 5.1.1 550 5.1.1 <ann@reader.example>: Recipient address rejected: User unknown (in reply to RCPT TO command)',
    ],
    'text-sendmail': ['failed ann@reader.example 5.1.1 550 5.1.1 <ann@reader.example>... User unknown'],
    'text-google': [
      'failed ann@reader.example 5.1.1 550 550 5.1.1 <ann@reader.example>: Recipient address rejected: User unknown (state 14).',
    ],
    'text-yahoo': ['failed ann@reader.example 5.1.1 550 5.1.1 No such user [RCPT_TO]'],
    'text-mdaemon': ['failed ann@reader.example 5.1.1 550 5.1.1 ann@reader.example, Recipient unknown'],
    'text-ses': ['failed ann@reader.example - '],
    'text-groupwise': ['failed ann@reader.example 5.1.1 550 5.1.1 User unknown)'],
    'text-lotus': ['failed ann@reader.example - User ann (ann@reader.example) not listed in Domino Directory'],
  };

  for (const [name, expected] of Object.entries(EXPECTED)) {
    it(`are read: ${name}`, () => expect(summary(`${name}.eml`)).toEqual(expected));
  }

  it('are read from a page of mark-up: text-exchange', () => {
    const [only, ...others] = summary('text-exchange.eml');
    expect(others).toEqual([]);
    expect(only).toMatch(/^failed ann@reader\.example/);
  });

  it('are read in German, where the address is repeated as a link', () => {
    const [only, ...others] = summary('text-exchange-german.eml');
    expect(others).toEqual([]);
    expect(only).toMatch(/^failed ann@reader\.example .*5\.1\.10/);
  });

  const told = (from: string, text: string, { charset = 'utf-8', subject = 'x', more = '' } = {}): string[] => {
    const head = `From: ${from}\r\nTo: b-token@bounces.example.com\r\nSubject: ${subject}\r\n${more}`;
    const bytes = Buffer.concat([
      Buffer.from(`${head}Content-Type: text/plain; charset=${charset}\r\n\r\n`),
      charset === 'utf-8' ? Buffer.from(text) : Buffer.from(text, 'latin1'),
    ]);
    return (readAll(bytes).report?.recipients ?? []).map(
      ({ action, finalRecipient, originalRecipient, status, diagnostic }) => {
      const origin = (originalRecipient ?? finalRecipient) === finalRecipient ? '' : ` for ${originalRecipient}`;
      return `${action} ${finalRecipient}${origin} ${status ?? '-'} ${diagnostic}`;
    },
    );
  };
  const RESOLVER = '#550 5.1.1 RESOLVER.ADR.RecipNotFound; not found ##';

  it.each([
    ['postmaster@reader.example', `No se pudo entregar a:\n\nann@reader.example\n\nInformación:\n${RESOLVER}`],
    ['postmaster@reader.example', `Bezorging is mislukt:\n\nann@reader.example\n\nGegevens:\n${RESOLVER}`],
    ['postmaster@reader.example', `Nie można dostarczyć:\n\nann@reader.example\n\n${RESOLVER}`],
    ['postmaster@reader.example', `Сбой доставки:\n\nann@reader.example\n\n${RESOLVER}`],
    ['postmaster@reader.example', `配信に失敗しました:\n\nann@reader.example\n\n${RESOLVER}`],
    ['Postmaster@163.example', '收件人：ann@reader.example\n\n退信原因：\nRCPT TO: 550 5.1.1 User not found'],
    ['MAILER-DAEMON@reader.example', 'Failed to deliver to \'ann@reader.example\'\nSMTP module reports:\n host says:\n 550 5.1.1 no user'],
    ['MDaemon@reader.example', 'Failed address: ann@reader.example\n\n 10:00:00: [1:2] 550 5.1.1 <ann@reader.example>, unknown'],
    ['=?utf-8?B?5pS25Lu2?= <mailer-daemon@reader.example>', 'ann@reader.example: host said: 550 5.1.1 unknown'],
  ])('are read in any language and form, where a mail system gives a code: %s', (from, text) => {
    expect(told(from, text)).toEqual([expect.stringMatching(/^failed ann@reader\.example 5\.1\.1 550 5\.1\.1 /)]);
  });

  it('are read in the charset that they name', () => {
    const text = Buffer.concat([Buffer.from('ann@reader.example '), Buffer.from('cdcbd0c5d4add2f2a3ba', 'hex')]);
    const said = told('Postmaster@163.example', `${text.toString('latin1')}550 User not found`, { charset: 'gb18030' });
    expect(said).toEqual(['failed ann@reader.example - 550 User not found']);
  });

  it('are delays in an unknown form where the code is temporary', () => {
    expect(told('MAILER-DAEMON@x.example', 'Задержано:\n\n<ann@reader.example>: 451 4.3.0 wait')).toEqual([
      'delayed ann@reader.example 4.3.0 451 4.3.0 wait',
    ]);
  });

  it.each([
    ['postmaster@reader.example', 'Your message to ann@reader.example (550 KB) is in quarantine.\n\n500 Main Street'],
    ['postmaster@reader.example', 'Read by ann@reader.example on 5.1.12; filter version 5.1.1'],
    ['postmaster@reader.example', 'Delivered to ann@reader.example.\n\nCall +1 (555) 550-1234.'],
    ['Ann <ann@reader.example>', 'I got this:\nann@reader.example: 550 5.1.1 unknown'],
  ])('are not what only looks so: %s %s', (from, text) => expect(told(from, text)).toEqual([]));

  it.each([
    { subject: 'Fwd: failure notice' },
    { subject: 'AW: Unzustellbar' },
    { subject: '=?utf-8?B?6L2s5Y+R77ya?= x' },
    { more: 'In-Reply-To: <1@example.com>\r\n' },
  ])('are not what a person passes on: %j', (how) => {
    const text = 'This is the mail system at host mx.example.\n\n<ann@reader.example>: 550 5.1.1 User unknown';
    expect(told('Bob <bob@reader.example>', text, how)).toEqual([]);
    expect(told('MAILER-DAEMON@mx.example', text, how)).toHaveLength(1);
    const subject = how.subject ?? 'x';
    const parts = `Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: message/delivery-status\r\n\r\nFinal-Recipient: rfc822; ann@reader.example\r\nStatus: 5.1.1\r\n--b--\r\n`;
    const passedOn = `From: Bob <bob@reader.example>\r\nSubject: ${subject}\r\n${how.more ?? ''}${parts}`;
    expect(readAll(Buffer.from(passedOn)).report).toBeNull();
  });

  it('name a plus address as it is, and undo xtext only where it is xtext', () => {
    const { report } = readAll(load('dsn-plus-address.eml'));
    expect(report?.recipients.map((one) => [one.finalRecipient, one.originalRecipient])).toEqual([
      ['ann+2B@reader.example', 'ann+news=x@reader.example'],
      ['bob+AB@reader.example', 'bob+AB@reader.example'],
    ]);
  });

  const dsnOf = (fields: string, text = ''): Buffer => {
    const head = `From: MAILER-DAEMON@x\r\nContent-Type: multipart/report; boundary=b\r\n\r\n--b\r\n\r\n${text}\r\n--b\r\n`;
    const body = fields.replaceAll('\n', '\r\n');
    return Buffer.from(`${head}Content-Type: message/delivery-status\r\n\r\n${body}\r\n--b--\r\n`);
  };
  const fieldsOf = (fields: string): string[] => {
    const { report } = readAll(dsnOf(fields));
    return (report?.recipients ?? []).map(
      ({ action, finalRecipient, originalRecipient, status, diagnostic }) => {
      const origin = (originalRecipient ?? finalRecipient) === finalRecipient ? '' : ` for ${originalRecipient}`;
      return `${action} ${finalRecipient}${origin} ${status ?? '-'} ${diagnostic}`;
    },
    );
  };
  const MTA = 'Reporting-MTA: dns; mx.reader.example\n';
  const ANN = 'Final-Recipient: rfc822; ann@reader.example\n';
  const BOB = 'Final-Recipient: rfc822; bob@reader.example\n';
  const WHY = 'Diagnostic-Code: smtp; 550 5.1.1 no\n';
  const FAILED = 'failed ann@reader.example 5.1.1 550 5.1.1 no';

  it('are put together where empty lines stand between their fields, or none between recipients', () => {
    expect(fieldsOf(`${MTA}\n${ANN}\nAction: failed\n\nStatus: 5.1.1\n\n${WHY}`)).toEqual([FAILED]);
    expect(
      fieldsOf(`${MTA}\n${ANN}Action: failed\n\nStatus: 5.1.1\n${WHY}\n${BOB}Action: delivered\n\nStatus: 2.0.0`),
    ).toEqual([FAILED, 'delivered bob@reader.example 2.0.0 ']);
    expect(
      fieldsOf(`${MTA}${BOB}Action: delivered\nStatus: 2.0.0\n${ANN}Action: failed\nStatus: 5.1.1\n${WHY}`),
    ).toEqual(['delivered bob@reader.example 2.0.0 ', FAILED]);
    const original = 'Original-Recipient: rfc822; ann@reader.example\n';
    const moved = 'Final-Recipient: rfc822; a@mx.reader.example\n';
    const { report } = readAll(dsnOf(`${MTA}\n${original}\n${moved}\nAction: failed\n\nStatus: 5.1.1\n\n${BOB}\nStatus: 2.0.0`));
    expect(report?.recipients.map((one) => [one.action, one.finalRecipient, one.originalRecipient])).toEqual([
      ['failed', 'a@mx.reader.example', 'ann@reader.example'],
      ['delivered', 'bob@reader.example', null],
    ]);
    // What names nobody says nothing of the recipient before it.
    expect(fieldsOf(`${MTA}\n${BOB}Action: delivered\nStatus: 2.0.0\n\nAction: failed\nStatus: 5.1.1`)).toEqual([
      'delivered bob@reader.example 2.0.0 ',
    ]);
  });

  it('keep the address that was written to, however often it was forwarded', () => {
    const original = 'Original-Recipient: rfc822; ann@reader.example\n';
    const origins = (fields: string, text?: string) =>
      readAll(dsnOf(`${MTA}\n${fields}`, text)).report?.recipients.map((one) => [one.finalRecipient, one.originalRecipient]);
    const twice = `${original}${BOB}Action: failed\nStatus: 5.1.1\n`;
    const refused = [['gone@elsewhere.example', 'ann@reader.example']];
    expect(origins(`${twice}X-Actual-Recipient: rfc822; gone@elsewhere.example`)).toEqual(refused);
    const exim = 'This message was created automatically by mail delivery software.\r\n\r\n  gone@elsewhere.example\r\n';
    expect(origins(twice, `${exim}    (generated from bob@reader.example)\r\n    550 5.1.1 no`)).toEqual(refused);
    // A block without a final recipient gets none from a text about somebody else.
    expect(origins(`${original}Action: failed\nStatus: 5.1.1`, `${exim}    550 5.1.1 no`)).toEqual([
      [null, 'ann@reader.example'],
    ]);
  });

  it('name a forwarding only of the address beside which it stands', () => {
    const sendmail = 'The following addresses had permanent fatal errors';
    const gone = '<gone@elsewhere.example>\n    (reason: 550 5.1.1 no)\n    (expanded from: <bob@reader.example>)';
    expect(told('MAILER-DAEMON@reader.example', `${sendmail}\n${gone}\n<ann@reader.example>\n`)).toEqual([
      'failed gone@elsewhere.example for bob@reader.example 5.1.1 550 5.1.1 no',
      expect.stringMatching(/^failed ann@reader\.example 5\.1\.1 /),
    ]);
  });

  it.each([
    'rfc822; ann@reader.example (Ann)',
    'rfc822; "Ann Smith" <ann@reader.example>',
    'RFC822;<mailto:ann@reader.example>',
    'utf-8; a\\x{6E}n@reader.example',
  ])('name an address however it is written: %s', (written) => {
    expect(fieldsOf(`${MTA}\nFinal-Recipient: ${written}\nAction: failed\nStatus: 5.1.1\n${WHY}`)).toEqual([FAILED]);
  });

  it('have the action of the reply that they quote if they have no other', () => {
    expect(fieldsOf(`${MTA}\n${ANN}${WHY}`)).toEqual(['failed ann@reader.example - 550 5.1.1 no']);
    expect(fieldsOf(`${MTA}\n${ANN}Diagnostic-Code: smtp; 450 wait`)).toEqual(['delayed ann@reader.example - 450 wait']);
  });

  it('bring back the header of the message', () => {
    const { report } = readAll(load('dsn-postfix.eml'));
    expect(report?.returned.map(({ name }) => name)).toEqual(['from', 'to', 'subject', 'x-postrider-ref']);
    expect(readAll(load('dsn-without-action.eml')).report?.returned).toContainEqual({ name: 'subject', value: 'inner' });
  });

  it('are not seen in what people and answering programs write', () => {
    const answers = names.filter((name) => name.startsWith('auto-'));
    expect(answers.length).toBeGreaterThanOrEqual(13);
    for (const name of [...answers, 'reply-person.eml', 'arf-headers-only.eml'])
      expect(readAll(load(name)).report, name).toBeNull();
    for (const name of answers) expect(readAll(load(name)).sign, name).not.toBeNull();
    expect(readAll(load('auto-vacation.eml')).sign).toBe('its subject');
    expect(readAll(load('auto-header.eml')).sign).toBe('x-autoreply');
    expect(readAll(load('reply-person.eml')).sign).toBeNull();
  });
});

describe('an automatic reply', () => {
  it.each([
    'Automatisk svar: Order',
    'Automatyczna odpowiedź: Order',
    'Absence : Order',
    'Fuori ufficio: Order',
    'Fuera de oficina: Order',
    'Αυτόματη απάντηση: Order',
    'Автоматична відповідь: Order',
    'رد تلقائي: Order',
    'תשובה אוטומטית: Order',
    '自动答复: Order',
  ])('is known by how its subject begins: %s', (subject) => {
    expect(readAll(Buffer.from(`Subject: ${subject}\r\n\r\nx\r\n`)).sign).toBe('its subject');
  });

  it('has another subject where a person answers', () => {
    expect(readAll(Buffer.from('Subject: Absences in May\r\n\r\nx\r\n')).sign).toBeNull();
  });
});

describe('feedback reports', () => {
  it('give up every place where a token may stand, of the outer report alone', () => {
    expect(readAll(load('arf-headers-only.eml')).feedback).toEqual({
      type: 'abuse',
      userAgent: 'ProviderFBL/2.0',
      references: ['00000000000000-0000000000000000'],
      returnPaths: ['b-00000000000000-0000000000000000@bounces.example.com'],
      unsubscribe: [
        '<mailto:u-00000000000000-0000000000000000@bounces.example.com>, <https://mail.example.com/u/x>',
      ],
      messageId: '019ab000-0000-7000-8000-000000000001@example.com',
    });
    expect(readAll(load('arf-whole-message.eml')).feedback).toMatchObject({
      type: 'not-spam',
      references: ['11111111111111-1111111111111111'],
      returnPaths: ['b-00000000000000-0000000000000000@bounces.example.com'],
    });
    for (const name of names.filter((each) => !each.startsWith('arf'))) {
      expect(readAll(load(name)).feedback, name).toBeNull();
    }
  });

  const report = (fields: string) =>
    Buffer.from(
      `Content-Type: multipart/report; boundary=b\r\n\r\n--b\r\nContent-Type: message/feedback-report\r\n\r\n${fields}\r\n--b--\r\n`,
    );

  it('are read over empty lines and comments', () => {
    const spread = 'Feedback-Type: Abuse (spam)\r\n\r\nUser-Agent: X\r\n\r\nOriginal-Mail-From: <b-0@bounces.example.com>';
    expect(readAll(report(spread)).feedback).toMatchObject({
      ...{ type: 'abuse', userAgent: 'X' },
      returnPaths: ['b-0@bounces.example.com'],
    });
    expect(readAll(report('Feedback-Type: a@b')).feedback).toBeNull();
  });

  it('may be an attachment alone, but not that of an automatic reply', () => {
    const attached = (head: string) =>
      readAttachedComplaint(
        readMime(
          Buffer.from(
            `${head}Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: message/rfc822\r\n\r\nX-Postrider-Ref: 0\r\n\r\nx\r\n--b--\r\n`,
          ),
        ),
      );
    expect(attached('Subject: complaint about message\r\n')?.references).toEqual(['0']);
    for (const head of ['Auto-Submitted: auto-replied\r\n', 'Subject: Abwesenheit: x\r\n', 'Subject: 自动回复: x\r\n'])
      expect(attached(head)).toBeNull();
  });
});

describe('the reader', () => {
  const inMs = (bytes: Uint8Array): number => cpuMsOf(() => void readAll(bytes));
  /** Far above what any of these takes (some tens of ms), far below what anything quadratic does. */
  const SLOW_MS = 2_000;
  const HALF_MIB = 512 * 1024;

  it('is not slowed by what is made to slow it', () => {
    const fill = (text: string, size = HALF_MIB) => text.repeat(Math.ceil(size / text.length)).slice(0, size);
    const report = (body: string) =>
      Buffer.from(`Content-Type: multipart/report; boundary=b\r\n\r\n--b\r\nContent-Type: message/delivery-status\r\n\r\n${body}\r\n--b--\r\n`);
    const bomb = (body: string) => Buffer.from(`Subject: x\r\n\r\nThis is the qmail-send program\r\n${body}`);
    const cases: [string, Uint8Array][] = [
      ['one header line', Buffer.from(`X: ${fill('a')}`)],
      ['folds', Buffer.from(`X: a\r\n${fill(' \r\n ')}`)],
      ['boundaries', Buffer.from(`Content-Type: multipart/mixed; boundary=b\r\n\r\n${fill('--b')}`)],
      ['boundary lines', Buffer.from(`Content-Type: multipart/mixed; boundary=b\r\n\r\n${fill('--b     \r')}`)],
      ['parameters', Buffer.from(`Content-Type: a/b;${fill(';a="\\')}\r\n\r\n`)],
      ['blocks', report(fill('Final-Recipient: rfc822; a@b.example\r\nStatus: 5.1.1\r\n\r\n'))],
      ['empty lines', report(fill('\r\n'))],
      ['digits', report(`Final-Recipient: rfc822;a@b\r\nStatus: ${fill('5.1.')}`)],
      ['recipients', bomb(fill('<a@b.example>:\n'))],
      ['ats', bomb(fill('a@'))],
      ['dots', bomb(fill('a.'))],
      ['blanks', bomb(fill(' '))],
      ['brackets', Buffer.from(`Content-Type: text/html\r\n\r\n${fill('<')}`)],
      ['equals', Buffer.from(`Content-Transfer-Encoding: quoted-printable\r\n\r\nThis is the qmail-send program${fill('=\t \t')}`)],
      ['words', Buffer.from(`Subject: ${fill('=?utf-8?Q?', 60_000)}\r\n\r\n`)],
    ];
    for (const [name, bytes] of cases) expect(inMs(bytes), name).toBeLessThan(SLOW_MS);
  });

  it('never fails, whatever is done to the corpus', () => {
    const files = names.map(load);
    const edit = fc.record({
      file: fc.nat(files.length - 1),
      at: fc.nat(),
      kind: fc.constantFrom('cut', 'flip', 'repeat', 'splice', 'drop'),
      other: fc.nat(files.length - 1),
      bytes: fc.uint8Array({ maxLength: 40 }),
    });
    fc.assert(
      fc.property(edit, ({ file, at, kind, other, bytes }) => {
        const one = files[file] as Buffer;
        const two = files[other] as Buffer;
        const i = at % one.length;
        const made =
          kind === 'cut'
            ? one.subarray(0, i)
            : kind === 'flip'
              ? Buffer.concat([one.subarray(0, i), bytes, one.subarray(i + bytes.length)])
              : kind === 'repeat'
                ? Buffer.concat([one, one.subarray(i), one])
                : kind === 'splice'
                  ? Buffer.concat([one.subarray(0, i), two, one.subarray(i)])
                  : Buffer.concat([one.subarray(0, i), one.subarray(Math.min(one.length, i + 50))]);
        const { report } = readAll(made);
        for (const { diagnostic, finalRecipient, remoteMta } of report?.recipients ?? []) {
          expect(diagnostic.length).toBeLessThanOrEqual(1024);
          expect((finalRecipient ?? '').length).toBeLessThanOrEqual(320);
          expect(remoteMta.length).toBeLessThanOrEqual(255);
        }
      }),
      { numRuns: 3000 },
    );
  });

  it('never fails on any octets', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 2000 }), (bytes) => {
        readAll(bytes);
      }),
      { numRuns: 1000 },
    );
  });
});

describe('addresses at the bounce domain', () => {
  it('lead to what the token names, in any case and in quotes', () => {
    for (const [purpose, target] of [
      ['b', { kind: 'delivery', deliveryId: 4711 }],
      ['g', { kind: 'message', messageSeq: 4711 }],
      ['u', { kind: 'unsubscribe', deliveryId: 4711 }],
    ] as const) {
      const local = tokens.make(purpose, 4711);
      for (const text of [local, local.toUpperCase(), `"${local}"`]) expect(returnTarget(text, tokens)).toEqual(target);
    }
    expect(returnTarget('FBL-Yahoo', tokens)).toEqual({ kind: 'feedback', provider: 'yahoo' });
    expect(returnTarget('Abuse', tokens)).toEqual({ kind: 'operator', name: 'abuse' });
  });

  it('that were altered, or are anything else, lead nowhere', () => {
    const local = tokens.make('b', 4711);
    fc.assert(
      fc.property(fc.nat(local.length - 1), fc.constantFrom(...'0123456789abcdefghjkmnpqrstvwxyz-@'), (at, c) => {
        const altered = local.slice(0, at) + c + local.slice(at + 1);
        if (altered !== local) expect(returnTarget(altered, tokens)).toBeNull();
      }),
    );
    fc.assert(
      fc.property(fc.string({ maxLength: 80, unit: 'binary' }), (text) => {
        const target = returnTarget(text, tokens);
        if (target !== null) expect(['operator', 'reports', 'feedback']).toContain(target.kind);
      }),
    );
    for (const name of ['', 'root', 'fbl-', 'fbl--x', 'postmaster2', 'b-', tokens.ref(4711)]) {
      expect(returnTarget(name, tokens), name).toBeNull();
    }
    // An id beyond what is exact names nothing here.
    expect(returnTarget(tokens.make('b', 2n ** 59n), tokens)).toBeNull();
  });
});
