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
