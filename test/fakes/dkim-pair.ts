/**
 * What DKIM is tested with, here and before other programs: a key made for the process, signers of two domains with it, the
 * records that publish it, and an ordinary message.
 */
import { generateKeyPairSync } from 'node:crypto';
import { createDkimSigner } from '../../src/mail/dkim.ts';

export const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });

export const rsaSigner = createDkimSigner({
  domain: 'example.com',
  selector: 'pr1',
  privateKey: rsa.privateKey,
});
export const serviceSigner = createDkimSigner({
  domain: 'svc.example.net',
  selector: 'pr2',
  privateKey: rsa.privateKey,
});

const RECORD = `v=DKIM1; k=rsa; p=${rsa.publicKey.export({ type: 'spki', format: 'der' }).toString('base64')}`;

/** TXT records by name. */
export const DKIM_RECORDS: Readonly<Record<string, string>> = {
  'pr1._domainkey.example.com': RECORD,
  'pr2._domainkey.svc.example.net': RECORD,
};

/** Header lines of an ordinary message from example.com. */
export const HEADERS: readonly string[] = [
  'From: "Ann" <ann@example.com>',
  'To: bob@example.org',
  'Subject: Hello',
  'Date: Sat, 21 Nov 2026 12:00:00 +0000',
  'Message-ID: <1@example.com>',
  'MIME-Version: 1.0',
  'Content-Type: text/plain; charset=utf-8',
];

/** Header lines and body as octets, one for each character below 256, and where the body begins. */
export function messageOf(headers: readonly string[], body: string): { message: Buffer; bodyOffset: number } {
  const head = Buffer.from(`${headers.join('\r\n')}\r\n\r\n`, 'latin1');
  return { message: Buffer.concat([head, Buffer.from(body, 'latin1')]), bodyOffset: head.length };
}
