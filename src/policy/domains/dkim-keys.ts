/**
 * Creates and loads the RSA keys of sender domains. Generating takes 50–500 ms in the thread pool, never on the event
 * loop. Bytes that are not a private key throw, which holds the domain's mail instead of sending it unsigned. No copy
 * of a key is kept.
 */
import { createPrivateKey, createPublicKey, generateKeyPair, type KeyObject } from 'node:crypto';

/**
 * RFC 8301 §3.2 recommends 2048; a larger key would not fit into two 255-octet strings, and some receivers refuse it.
 */
const RSA_BITS = 2048;

export interface DkimKeyPair {
  /** PKCS#8 DER, to be encrypted before it is stored. */
  privateDer: Uint8Array;
  /** SubjectPublicKeyInfo DER in base64, without line breaks: the `p=` of the record (RFC 6376 §3.6.1). */
  publicKey: string;
}

/** A new RSA-2048 key pair. */
export function generateDkimKeyPair(): Promise<DkimKeyPair> {
  return new Promise((resolve, reject) => {
    generateKeyPair(
      'rsa',
      {
        modulusLength: RSA_BITS,
        publicKeyEncoding: { type: 'spki', format: 'der' },
        privateKeyEncoding: { type: 'pkcs8', format: 'der' },
      },
      (error, publicDer, privateDer) => {
        if (error === null) resolve({ privateDer, publicKey: publicDer.toString('base64') });
        else reject(error);
      },
    );
  });
}

/** The key in PKCS#8 DER bytes. Throws if there is none. Cache it: loading costs 0.5 ms. */
export function loadPrivateKey(der: Uint8Array): KeyObject {
  return createPrivateKey({ key: Buffer.from(der), format: 'der', type: 'pkcs8' });
}

/** Size in bits of the RSA key in a `p=` value; null if it is not an RSA key. */
export function rsaBits(publicKey: string): number | null {
  try {
    const key = createPublicKey({ key: Buffer.from(publicKey, 'base64'), format: 'der', type: 'spki' });
    return key.asymmetricKeyDetails?.modulusLength ?? null;
  } catch {
    return null;
  }
}
