import { describe, expect, it } from 'vitest';
import { readDsn } from './dsn.ts';
import { readMime } from './mime-tree.ts';

it.each([
  ['smtp; 550 5.2.2 =?utf-8?B?UG9zdGZhY2ggaXN0IHZvbGw=?=', '550 5.2.2 Postfach ist voll'],
  ['=?iso-8859-1?Q?smtp;_550_5=2E2=2E2_Bo=EEte_pleine?=', '550 5.2.2 Boîte pleine'],
])('a reason in encoded words is read: %s', (written, diagnostic) => {
  const fields = `Final-Recipient: rfc822; a@b.example\r\nAction: failed\r\nDiagnostic-Code: ${written}\r\n`;
  const report = readDsn(readMime(Buffer.from(`Content-Type: message/delivery-status\r\n\r\n${fields}`)));
  expect(report?.recipients[0]).toMatchObject({ diagnostic, isSmtp: true });
});

it.each([
  ['MAILER-DAEMON@mx.example', 1],
  ['Ann <ann@example.com>', undefined],
])('a report that answers another mail is one from a mail system: %s', (from, recipients) => {
  const fields = 'Final-Recipient: rfc822; a@b.example\r\nAction: failed\r\n';
  const header = `From: ${from}\r\nIn-Reply-To: <1@example.com>\r\nContent-Type: message/delivery-status`;
  const report = readDsn(readMime(Buffer.from(`${header}\r\n\r\n${fields}`)));
  expect(report?.recipients.length).toBe(recipients);
});

describe('a report with many blocks', () => {
  const recipient = 'Final-Recipient: rfc822; a@b.example\r\nAction: failed\r\n\r\n';
  const reportOf = (blocks: string) =>
    readDsn(
      readMime(
        Buffer.from(`Content-Type: message/delivery-status\r\n\r\nReporting-MTA: dns; x\r\n\r\n${blocks}`),
      ),
    )?.recipients.length;

  it('is read up to a thousand recipients, and not to its end where blocks name nobody', () => {
    expect(reportOf('a:\r\n\r\n'.repeat(1_000) + recipient)).toBe(1);
    expect(reportOf('a:\r\n\r\n'.repeat(2_000) + recipient)).toBeUndefined();
    expect(reportOf(recipient.repeat(1_500))).toBe(1_000);
  });
});
