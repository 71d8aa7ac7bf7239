/**
 * What DKIM is tested with, here and before other programs: two signers with keys made for the process, RSA of example.com and
 * Ed25519 of svc.example.net, the records that publish them, and an ordinary message.
 */
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { createDkimSigner } from '../../src/mail/dkim.ts';

export const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const ed25519 = generateKeyPairSync('ed25519');

export const rsaSigner = createDkimSigner({
  domain: 'example.com',
  selector: 'pr1',
  privateKey: rsa.privateKey,
  algorithm: 'rsa-sha256',
});
export const edSigner = createDkimSigner({
  domain: 'svc.example.net',
  selector: 'ed',
  privateKey: ed25519.privateKey,
  algorithm: 'ed25519-sha256',
});

const spki = (key: KeyObject): Buffer => key.export({ type: 'spki', format: 'der' });

/** TXT records by name. */
export const DKIM_RECORDS: Readonly<Record<string, string>> = {
  'pr1._domainkey.example.com': `v=DKIM1; k=rsa; p=${spki(rsa.publicKey).toString('base64')}`,
  // RFC 8463 §4: the bare 32 octets, the last ones of the SPKI.
  'ed._domainkey.svc.example.net': `v=DKIM1; k=ed25519; p=${spki(ed25519.publicKey).subarray(-32).toString('base64')}`,
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
