/** Delivery reports that we write, read by an independent parser and our own reader; values from outside cannot inject lines. */
import fc from 'fast-check';
import PostalMime from 'postal-mime';
import { describe, expect, it } from 'vitest';
import { readDsn } from './dsn.ts';
import {
  isSevenBitMessage,
  type ReportedRecipient,
  type StatusReport,
  writeStatusReport,
} from './dsn-writer.ts';
import { readMime } from './mime-tree.ts';

const DATE = 'Sat, 21 Nov 2026 10:00:00 +0000';

function recipient(more: Partial<ReportedRecipient> = {}): ReportedRecipient {
  return {
    address: 'reader@example.net',
    originalRecipient: 'rfc822;first@example.org',
    action: 'failed',
    status: '5.1.1',
    diagnostic: { type: 'smtp', text: '550 5.1.1 No such user' },
    remoteMta: 'mx.example.net',
    lastAttempt: DATE,
    willRetryUntil: null,
    ...more,
  };
}

function report(more: Partial<StatusReport> = {}): StatusReport {
  return {
    from: 'MAILER-DAEMON@example.com',
    to: 'ann@example.com',
    subject: 'Undelivered mail: Grüße',
    date: DATE,
    arrivalDate: DATE,
    messageId: '019ab0c1-7d3e-7000-8000-000000000000@example.com',
    reportingMta: 'mail.example.com',
    envelopeId: 'QQ 17',
    text: 'Your message “Grüße” did not arrive.\n\n    reader@example.net\n',
    recipients: [recipient()],
    returned: { kind: 'header', bytes: Buffer.from('Subject: Grüße\r\nFrom: ann@example.com\r\n') },
    ...more,
  };
}

const parse = (bytes: Uint8Array) =>
  PostalMime.parse(bytes, { attachmentEncoding: 'utf8', forceRfc822Attachments: true });
const statusOf = async (bytes: Uint8Array) => `${(await parse(bytes)).attachments[0]?.content}`;

describe('a written report', () => {
  it('is what a parser of others reads', async () => {
    const { bytes, bodyOffset, needsSmtpUtf8 } = writeStatusReport(report());
    const parsed = await parse(bytes);
    expect(parsed).toMatchObject({
      from: { name: 'Mail Delivery System', address: 'MAILER-DAEMON@example.com' },
      to: [{ address: 'ann@example.com' }],
      subject: 'Undelivered mail: Grüße',
      messageId: '<019ab0c1-7d3e-7000-8000-000000000000@example.com>',
    });
    const header = (key: string) => parsed.headers.find((one) => one.key === key)?.value;
    expect(header('auto-submitted')).toBe('auto-replied');
    expect(header('content-type')).toMatch(/^multipart\/report; report-type=delivery-status;/);
    expect(parsed.text?.replaceAll('\r\n', '\n').trimEnd()).toBe(report().text.trimEnd());
    expect(parsed.attachments.map(({ mimeType }) => mimeType)).toEqual([
      'message/delivery-status',
      'text/rfc822-headers',
    ]);
    expect(`${parsed.attachments[1]?.content}`).toContain('Subject: Grüße');
    expect((await statusOf(bytes)).replaceAll('\r\n', '\n').trimEnd()).toBe(
      [
        'Original-Envelope-Id: QQ 17',
        'Reporting-MTA: dns; mail.example.com',
        `Arrival-Date: ${DATE}`,
        '',
        'Original-Recipient: rfc822;first@example.org',
        'Final-Recipient: rfc822;reader@example.net',
        'Action: failed',
        'Status: 5.1.1',
        'Remote-MTA: dns; mx.example.net',
        'Diagnostic-Code: smtp; 550 5.1.1 No such user',
        `Last-Attempt-Date: ${DATE}`,
      ].join('\n'),
    );
    expect(
      Buffer.from(bytes)
        .subarray(bodyOffset - 4, bodyOffset)
        .toString(),
    ).toBe('\r\n\r\n');
    expect(needsSmtpUtf8).toBe(false);
  });

  it('is what our own reader reads, with every recipient', () => {
    const recipients = [
      recipient(),
      recipient({
        address: 'late@example.net',
        originalRecipient: null,
        action: 'delayed',
        status: '4.2.1',
        diagnostic: { type: 'x-postrider', text: 'nobody answered' },
        remoteMta: '',
        willRetryUntil: DATE,
      }),
      recipient({
        address: 'ok@example.net',
        originalRecipient: null,
        action: 'relayed',
        status: '2.0.0',
        diagnostic: null,
      }),
    ];
    const { bytes } = writeStatusReport(report({ recipients }));
    expect(readDsn(readMime(bytes))).toMatchObject({
      reportingMta: 'mail.example.com',
      recipients: [
        {
          action: 'failed',
          status: '5.1.1',
          diagnostic: '550 5.1.1 No such user',
          isSmtp: true,
          finalRecipient: 'reader@example.net',
          originalRecipient: 'first@example.org',
          remoteMta: 'mx.example.net',
        },
        { action: 'delayed', status: '4.2.1', isSmtp: false, remoteMta: '' },
        { action: 'relayed', status: '2.0.0', finalRecipient: 'ok@example.net' },
      ],
    });
  });

  it('brings a whole message back octet for octet', async () => {
    const whole = Buffer.from(
      'Subject: inner\r\nContent-Type: text/plain\r\n\r\n--=_report_x\r\nbody\r\n.\r\n',
    );
    const { bytes } = writeStatusReport(report({ returned: { kind: 'whole', bytes: whole } }));
    expect(Buffer.from(bytes).includes(whole)).toBe(true);
    const [, message] = (await parse(bytes)).attachments;
    expect(message?.mimeType).toBe('message/rfc822');
    const inner = await PostalMime.parse(`${message?.content}`);
    expect(inner).toMatchObject({ subject: 'inner' });
    expect(inner.text).toContain('body');
  });

  it('brings a header back octet for octet, and encoded only where it is not 7-bit', () => {
    const header = Buffer.from(
      `Received: from a\r\n\tby b\r\nSubject: =?utf-8?q?=C3=BC?=\r\nReferences:${' <0123456789@example.com>'.repeat(9)}\r\n`,
    );
    const { bytes } = writeStatusReport(report({ returned: { kind: 'header', bytes: header } }));
    expect(Buffer.from(bytes).includes(Buffer.concat([Buffer.from('headers\r\n\r\n'), header]))).toBe(true);
    expect(`${Buffer.from(writeStatusReport(report()).bytes)}`).toContain('Subject: Gr=C3=BC=C3=9Fe\r\n');
  });

  it('does without the third part where nothing is left of the message', async () => {
    const { bytes } = writeStatusReport(report({ returned: null }));
    expect((await parse(bytes)).attachments).toHaveLength(1);
  });

  it('writes addresses outside ASCII in a form of ASCII, and says where its own needs SMTPUTF8', async () => {
    const recipients = [recipient({ address: 'jörg@example.net', originalRecipient: null })];
    const plain = writeStatusReport(report({ recipients }));
    expect(await statusOf(plain.bytes)).toContain('Final-Recipient: utf-8;j\\x{F6}rg@example.net');
    expect(plain.needsSmtpUtf8).toBe(false);
    const { bytes, needsSmtpUtf8 } = writeStatusReport(report({ to: 'jörg@example.com' }));
    expect(needsSmtpUtf8).toBe(true);
    expect((await parse(bytes)).to).toMatchObject([{ address: 'jörg@example.com' }]);
  });

  it('is 7-bit in lines of proper length, with the fields that it should have, whatever the facts', () => {
    const nasty = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 1200 }),
      fc
        .array(
          fc.constantFrom(
            '\r\n',
            '\n',
            '\r',
            'Action: delivered',
            '--=_report_',
            ' ',
            ';',
            'x'.repeat(90),
            'é',
          ),
        )
        .map((all) => all.join('')),
    );
    fc.assert(
      fc.property(nasty, nasty, nasty, (a, b, c) => {
        const { bytes } = writeStatusReport(
          report({
            subject: a,
            text: b,
            envelopeId: c,
            recipients: [
              recipient({
                originalRecipient: `rfc822;${a}`,
                diagnostic: { type: 'smtp', text: b },
                remoteMta: c,
              }),
            ],
            returned: { kind: 'header', bytes: Buffer.from(`Subject: ${a}\r\n`) },
          }),
        );
        expect(isSevenBitMessage(bytes)).toBe(true);
        const mail = readMime(bytes);
        expect(mail.header.fields.map(({ name }) => name)).toEqual([
          ...[
            'from',
            'to',
            'subject',
            'date',
            'message-id',
            'auto-submitted',
            'mime-version',
            'content-type',
          ],
        ]);
        const read = readDsn(mail);
        expect(read?.recipients).toHaveLength(1);
        expect(read?.recipients[0]).toMatchObject({ action: 'failed', finalRecipient: 'reader@example.net' });
      }),
      { numRuns: 300 },
    );
  });
});

describe('a message that may come back whole', () => {
  it.each([
    ['A: b\r\n\r\nx\r\n', true],
    [`${'x'.repeat(998)}\r\n`, true],
    [`${'x'.repeat(999)}\r\n`, false],
    ['A: b\r\n\r\nx', false],
    ['A: b\n\nx\n', false],
    ['A: é\r\n', false],
    ['A: \0\r\n', false],
    ['', false],
  ])('%j: %s', (text, expected) => {
    expect(isSevenBitMessage(Buffer.from(text))).toBe(expected);
  });
});
