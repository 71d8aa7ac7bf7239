/**
 * The DKIM signer (RFC 6376, RFC 8301): rsa-sha256, relaxed/relaxed, no `l=`, with `t=` and `x=`.
 *
 * Takes a whole message as sent, the offset of its body, and signers with loaded keys; returns the DKIM-Signature lines
 * to put before it. RSA runs on the thread pool; the rest takes some µs. Every failure rejects with a `DkimError`, so a
 * message is never returned unsigned.
 */
import { type KeyObject, sign } from 'node:crypto';
import { bodyHash, canonicalField, DkimError, type HeaderField, headerFields } from './dkim-canonical.ts';

/**
 * The signer for one domain; created once per key and kept, as loading a key costs more than the rest of a signature.
 */
export interface DkimSigner {
  readonly domain: string;
  readonly selector: string;
  readonly privateKey: KeyObject;
}

interface SignOptions {
  /** Wall clock in milliseconds, for the `t=` of the signatures. */
  nowMs: number;
  /** The `bodyHash` of this message if the caller already has it, e.g. from the attempt before. */
  bodyHash?: string;
}

/** `x=` minus `t=`, 14 days: longer than any message is tried, with a margin. */
const EXPIRES_AFTER_SECONDS = 14 * 86_400;
/** RFC 8301 §3.2: the minimum for signers. */
const MIN_RSA_BITS = 1024;
/** Folded lines stay shorter than the 78 of RFC 5322 §2.1.1. */
const LINE_LENGTH = 76;
const LABELS = /^[a-z0-9_](?:[a-z0-9_-]{0,62})(?:\.[a-z0-9_][a-z0-9_-]{0,62})*$/;

/**
 * Fields that are signed as often as they are present, in `h=` order; true: listed once more, so that adding one on the
 * way breaks the signature (RFC 6376 §8.15). Return-Path, Received, Bcc and X-Postrider-Ref are left out intentionally:
 * they change on the way, or differ between copies that share a signature.
 */
const SIGNED_FIELDS: ReadonlyMap<string, { spelling: string; oversigned: boolean }> = new Map(
  (
    [
      ['From', true],
      ['To', true],
      ['Cc', true],
      ['Subject', true],
      ['Date', true],
      ['Message-ID', true],
      ['Reply-To', true],
      ['MIME-Version', false],
      ['Content-Type', true],
      ['Content-Transfer-Encoding', false],
      ['In-Reply-To', false],
      ['References', false],
      ['List-Unsubscribe', false],
      ['List-Unsubscribe-Post', false],
      ['List-Id', false],
      ['Feedback-ID', false],
    ] as const
  ).map(([spelling, oversigned]) => [spelling.toLowerCase(), { spelling, oversigned }]),
);

/**
 * A signer for `d=domain; s=selector`, both lower-case A-labels. Throws `DkimError('signer')` if they are not valid
 * names, or the key is not a private RSA key of at least 1024 bits.
 */
export function createDkimSigner(signer: DkimSigner): DkimSigner {
  const { domain, selector, privateKey } = signer;
  if (domain.length > 253 || !domain.includes('.') || !LABELS.test(domain)) {
    throw new DkimError('signer', 'the signing domain is not a domain name in lower-case A-labels');
  }
  if (selector.length > 189 || !LABELS.test(selector)) {
    throw new DkimError('signer', 'the selector is not a name');
  }
  if (privateKey.type !== 'private' || privateKey.asymmetricKeyType !== 'rsa') {
    throw new DkimError('signer', 'rsa-sha256 needs a private rsa key');
  }
  if ((privateKey.asymmetricKeyDetails?.modulusLength ?? 0) < MIN_RSA_BITS) {
    throw new DkimError('signer', `the RSA key has fewer than ${MIN_RSA_BITS} bits`);
  }
  return { domain, selector, privateKey };
}

/**
 * DKIM-Signature lines, each ending with CRLF, to be put before `message`; the first signer's is topmost.
 *
 * `message`: headers, blank line and body with CRLF line ends; `bodyOffset`: the body's first octet. Rejects with
 * `DkimError`: `malformed` (invalid bytes, no From field), `signer` (none given) or `crypto` (a key
 * failed).
 */
export async function signMessage(
  message: Uint8Array,
  bodyOffset: number,
  signers: readonly DkimSigner[],
  options: SignOptions,
): Promise<Uint8Array> {
  if (signers.length === 0) throw new DkimError('signer', 'no signer was given');
  const signedAt = Math.floor(options.nowMs / 1000);
  if (!Number.isSafeInteger(signedAt) || signedAt < 0) {
    throw new DkimError('signer', 'the time of signing is not an instant');
  }
  const covered = coveredHeaders(headerFields(message, bodyOffset));
  const shared = {
    names: covered.names,
    lines: covered.lines,
    hash: options.bodyHash ?? bodyHash(message, bodyOffset),
    times: `t=${signedAt}; x=${signedAt + EXPIRES_AFTER_SECONDS};`,
  };
  const fields = await Promise.all(signers.map((signer) => signatureField(signer, shared)));
  return Buffer.from(fields.join(''), 'latin1');
}

/** The `h=` names and their canonical lines in the same order, each line with its CRLF. */
function coveredHeaders(fields: readonly HeaderField[]): { names: string[]; lines: string } {
  const signed = fields.filter(({ name }) => SIGNED_FIELDS.has(name));
  const present = Map.groupBy(signed, ({ name }) => name);
  if (!present.has('from')) throw new DkimError('malformed', 'the message has no From field');

  const names: string[] = [];
  let lines = '';
  for (const [name, { spelling, oversigned }] of SIGNED_FIELDS) {
    const same = present.get(name) ?? [];
    // RFC 6376 §5.4.2: repeated fields are taken from the bottom of the header upwards.
    for (let i = same.length - 1; i >= 0; i--) {
      names.push(spelling);
      lines += `${canonicalField(same[i] as HeaderField)}\r\n`;
    }
    if (oversigned) names.push(spelling);
  }
  return { names, lines };
}

async function signatureField(
  signer: DkimSigner,
  shared: { names: readonly string[]; lines: string; hash: string; times: string },
): Promise<string> {
  const start = foldedField([
    'DKIM-Signature: v=1;',
    'a=rsa-sha256;',
    'c=relaxed/relaxed;',
    `d=${signer.domain};`,
    `s=${signer.selector};`,
    ...shared.times.split(' '),
    ...shared.names.map((name, i) =>
      i === 0 ? `h=${name}:` : i === shared.names.length - 1 ? `${name};` : `${name}:`,
    ),
    `bh=${shared.hash};`,
  ]);
  // The signature covers its own field with an empty b= and without the last CRLF (RFC 6376 §3.7).
  const unsigned = `${start}\r\n b=`;
  const own = canonicalField({ name: 'dkim-signature', value: unsigned.slice(unsigned.indexOf(':') + 1) });
  const signature = await signatureOf(signer, Buffer.from(shared.lines + own, 'latin1'));
  return `${unsigned}${foldedBase64(signature.toString('base64'))}\r\n`;
}

/** Words joined by blanks, or by CRLF and a blank if the line would become too long. */
function foldedField(words: readonly string[]): string {
  let text = '';
  let column = 0;
  for (const word of words) {
    // Inside h= no blank is needed: a name directly follows the colon if it fits.
    const glued = text.endsWith(':');
    if (column === 0) {
      text = word;
      column = word.length;
    } else if (column + word.length + (glued ? 0 : 1) <= LINE_LENGTH) {
      text += glued ? word : ` ${word}`;
      column += word.length + (glued ? 0 : 1);
    } else {
      text += `\r\n ${word}`;
      column = word.length + 1;
    }
  }
  return text;
}

/** The b= value over several lines; verifiers ignore blanks in it (RFC 6376 §3.5). */
function foldedBase64(base64: string): string {
  const first = LINE_LENGTH - ' b='.length;
  let text = base64.slice(0, first);
  for (let at = first; at < base64.length; at += LINE_LENGTH - 1) {
    text += `\r\n ${base64.slice(at, at + LINE_LENGTH - 1)}`;
  }
  return text;
}

/** Hashes and signs on the thread pool. */
function signatureOf(signer: DkimSigner, data: Buffer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const done = (error: Error | null, signature: Buffer): void => {
      if (error === null) resolve(signature);
      else reject(new DkimError('crypto', `signing for ${signer.domain} failed`, { cause: error }));
    };
    try {
      sign('sha256', data, signer.privateKey, done);
    } catch (error) {
      reject(new DkimError('crypto', `signing for ${signer.domain} failed`, { cause: error }));
    }
  });
}
