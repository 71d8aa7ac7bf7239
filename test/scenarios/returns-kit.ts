/**
 * Reports as the far side writes them, and a way to hand them in at a returns port. Written here from the RFCs; nothing
 * of the product's own readers is used.
 */
import { openLineClient } from '../fakes/smtp-line-client.ts';
import type { Scope } from './harness.ts';

export interface DsnBlock {
  recipient: string;
  original?: string;
  action?: string;
  status?: string;
  diagnostic?: string;
  mta?: string;
}

const crlf = (lines: readonly string[]): string => `${lines.join('\r\n')}\r\n`;

/** A report by RFC 3464 with these blocks. */
export function dsn(blocks: readonly DsnBlock[], more: { to?: string; headers?: string[] } = {}): string {
  return crlf([
    'From: MAILER-DAEMON@mx.reader.example (Mail Delivery System)',
    `To: ${more.to ?? 'whoever@bounces.example.com'}`,
    'Subject: Undelivered Mail Returned to Sender',
    'Auto-Submitted: auto-replied',
    'MIME-Version: 1.0',
    'Content-Type: multipart/report; report-type=delivery-status;',
    '\tboundary="=_report"',
    '',
    'This is a MIME-encapsulated message.',
    '',
    '--=_report',
    'Content-Type: text/plain; charset=us-ascii',
    '',
    'It could not be delivered.',
    '',
    '--=_report',
    'Content-Type: message/delivery-status',
    '',
    'Reporting-MTA: dns; mx.reader.example',
    'Arrival-Date: Sat, 21 Nov 2026 10:00:00 +0000',
    '',
    ...blocks.flatMap((block) => [
      `Final-Recipient: rfc822; ${block.recipient}`,
      ...(block.original === undefined ? [] : [`Original-Recipient: rfc822;${block.original}`]),
      `Action: ${block.action ?? 'failed'}`,
      `Status: ${block.status ?? '5.1.1'}`,
      ...(block.mta === undefined ? [] : [`Remote-MTA: dns; ${block.mta}`]),
      `Diagnostic-Code: ${block.diagnostic ?? 'smtp; 550 5.1.1 No such user here'}`,
      '',
    ]),
    '--=_report',
    'Content-Type: text/rfc822-headers',
    '',
    'From: Sender <sender@example.com>',
    'Subject: A subject',
    ...(more.headers ?? []),
    '',
    '--=_report--',
  ]);
}

/** A feedback report by RFC 5965 that says nothing of the recipient. */
export function arf(headers: readonly string[], more: { type?: string; fields?: string[] } = {}): string {
  return crlf([
    'From: <feedback@arf.provider.example>',
    'To: <fbl@bounces.example.com>',
    'Subject: FW: A subject',
    'MIME-Version: 1.0',
    'Content-Type: multipart/report; report-type=feedback-report; boundary="=_arf"',
    '',
    '--=_arf',
    'Content-Type: text/plain',
    '',
    'This is an email abuse report.',
    '',
    '--=_arf',
    'Content-Type: message/feedback-report',
    '',
    `Feedback-Type: ${more.type ?? 'abuse'}`,
    'User-Agent: ProviderFBL/1.0',
    'Version: 1',
    ...(more.fields ?? []),
    '',
    '--=_arf',
    'Content-Type: text/rfc822-headers',
    '',
    'From: Sender <sender@example.com>',
    'Subject: A subject',
    ...headers,
    '',
    '--=_arf--',
  ]);
}

/** One `<record>` of a DMARC report. */
export interface DmarcRow {
  ip: string;
  n?: number;
  dkim?: 'pass' | 'fail';
  spf?: 'pass' | 'fail';
  disposition?: string;
  from?: string;
  /** Further elements: `<auth_results>` and the like. */
  more?: string;
}

/** The document of a DMARC aggregate report. */
export function dmarcDocument(
  rows: readonly DmarcRow[],
  more: { domain?: string; id?: string; reporter?: string; prefix?: string; endS?: number } = {},
): string {
  const { domain = 'example.com', id = 'r-1', reporter = 'Receiver & Co', prefix = '' } = more;
  const endS = more.endS ?? 1_735_775_999;
  const tag = (name: string, content: string) => `<${prefix}${name}>${content}</${prefix}${name}>`;
  const record = ({ ip, n = 1, dkim = 'pass', spf = 'pass', disposition = 'none', ...one }: DmarcRow) =>
    tag(
      'record',
      [
        tag(
          'row',
          [
            ...[tag('source_ip', ip), tag('count', String(n))],
            tag(
              'policy_evaluated',
              `${tag('disposition', disposition)}${tag('dkim', dkim)}${tag('spf', spf)}`,
            ),
          ].join('\n'),
        ),
        tag('identifiers', tag('header_from', one.from ?? domain)),
        one.more ?? '',
      ].join('\n'),
    );
  const about = [
    tag('org_name', reporter.replaceAll('&', '&amp;')),
    tag('email', 'dmarc@receiver.example'),
    tag('report_id', id),
    tag('date_range', `${tag('begin', String(endS - 86_399))}${tag('end', String(endS))}`),
  ].join('\n');
  const policy = `${tag('domain', domain)}${tag('p', 'none')}`;
  const parts = [tag('report_metadata', about), tag('policy_published', policy), ...rows.map(record)];
  return `<?xml version="1.0" encoding="UTF-8" ?>\n${tag('feedback', parts.join('\n'))}\n`;
}

/** A mail with one attachment. */
export function attached(type: string, bytes: Uint8Array, from = 'dmarc@receiver.example'): string {
  return crlf([
    `From: Reports <${from}>`,
    'To: dmarc@bounces.example.com',
    'Subject: Report Domain: example.com',
    'MIME-Version: 1.0',
    'Content-Type: multipart/mixed; boundary="=_dmarc"',
    '',
    '--=_dmarc',
    'Content-Type: text/plain',
    '',
    'This is an aggregate report.',
    '',
    '--=_dmarc',
    `Content-Type: ${type}`,
    'Content-Transfer-Encoding: base64',
    '',
    ...(Buffer.from(bytes)
      .toString('base64')
      .match(/.{1,76}/g) ?? []),
    '',
    '--=_dmarc--',
  ]);
}

/** A message for people. */
export function plain(headers: readonly string[], body: string): string {
  return crlf([...headers, '', ...body.split('\n')]);
}

/** Hands a message in; the last reply. */
export async function handIn(
  scope: Scope,
  port: number,
  to: string | readonly string[],
  data: string,
  from = '',
): Promise<string> {
  const client = await openLineClient(port);
  scope.defer(() => client.close());
  await client.reply();
  await client.hello();
  const reply = await client.transact({ from, to: typeof to === 'string' ? [to] : [...to], data });
  await client.ask('QUIT');
  client.close();
  return reply;
}
