/**
 * A certificate and its key from two PEM files, checked: both can be read, belong together, and can be used for TLS. Returns
 * the pair, or what is wrong in a clause that names the file, with what to do. Files that a renewal has half written are
 * wrong in one of these ways too. Whether the certificate has ended, or is for a certain host, is left to the caller.
 */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { createSecureContext, type SecureContext } from 'node:tls';
import { TLS_OPTIONS } from './tls-options.ts';
import { readWhole } from './whole-file.ts';
import { whyNot } from './why-not.ts';

/** PEM. */
export interface CertificatePair {
  cert: string | Buffer;
  key: string | Buffer;
}

export type CertificateFound =
  | { kind: 'good'; context: SecureContext; certificate: X509Certificate; beginsAt: number; endsAt: number }
  /** `why` is a clause, `fix` a sentence. */
  | { kind: 'wrong'; why: string; fix: string };

/** Never rejects. `read`: the text of a file. */
export async function readCertificate(
  files: { cert: string; key: string },
  read: (file: string) => Promise<string> = readWhole,
): Promise<CertificateFound> {
  const texts: string[] = [];
  for (const file of [files.cert, files.key]) {
    try {
      texts.push(await read(file));
    } catch (cause) {
      const denied = (cause as NodeJS.ErrnoException).code === 'EACCES';
      return {
        kind: 'wrong',
        why: `${file} cannot be read: ${whyNot(cause)}`,
        fix: denied
          ? 'Let the account that postrider runs as read it.'
          : 'Put the file there, or name the right one.',
      };
    }
  }
  const [cert = '', key = ''] = texts;
  return checkedPair({ cert, key }, files);
}

function checkedPair(
  pair: { cert: string; key: string },
  files: { cert: string; key: string },
): CertificateFound {
  const again = 'Write the whole file again.';
  let certificate: X509Certificate;
  try {
    certificate = new X509Certificate(pair.cert);
  } catch {
    return { kind: 'wrong', why: `${files.cert} is not a certificate in PEM form`, fix: again };
  }
  try {
    if (!certificate.checkPrivateKey(createPrivateKey(pair.key))) {
      return {
        kind: 'wrong',
        why: `${files.key} is not the key of ${files.cert}`,
        fix: 'Name the two files of one certificate (of certbot: fullchain.pem and privkey.pem).',
      };
    }
  } catch {
    if (pair.key.includes('ENCRYPTED')) {
      const fix = `Write it without: openssl pkey -in ${files.key} -out NEW-FILE`;
      return { kind: 'wrong', why: `${files.key} needs a passphrase`, fix };
    }
    return { kind: 'wrong', why: `${files.key} is not a private key in PEM form`, fix: again };
  }
  try {
    return {
      kind: 'good',
      context: contextOf(pair),
      certificate,
      beginsAt: Date.parse(certificate.validFrom),
      endsAt: Date.parse(certificate.validTo),
    };
  } catch (cause) {
    const { message } = cause as Error;
    return {
      kind: 'wrong',
      why: `${files.cert} cannot be used for TLS (${message})`,
      fix: again,
    };
  }
}

/** What a handshake needs. Throws where the pair cannot be used. */
export function contextOf({ cert, key }: CertificatePair): SecureContext {
  return createSecureContext({ ...TLS_OPTIONS, cert, key });
}
