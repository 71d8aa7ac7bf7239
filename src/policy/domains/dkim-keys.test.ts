import { createPublicKey } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createDkimSigner, signMessage } from '../../mail/dkim.ts';
import { generateDkimKeyPair, loadPrivateKey, rsaBits } from './dkim-keys.ts';

describe('generateDkimKeyPair', () => {
  it('makes an RSA-2048 pair whose halves belong together and that signs', async () => {
    const { privateDer, publicKey } = await generateDkimKeyPair();
    const privateKey = loadPrivateKey(privateDer);
    const own = createPublicKey(privateKey).export({ type: 'spki', format: 'der' }).toString('base64');
    expect(publicKey).toBe(own);
    expect(publicKey).toMatch(/^[A-Za-z0-9+/]{392}$/);
    expect(rsaBits(publicKey)).toBe(2048);
    const signer = createDkimSigner({
      domain: 'example.com',
      selector: 'a',
      privateKey,
    });
    const message = Buffer.from('From: a@example.com\r\n\r\nx\r\n');
    expect((await signMessage(message, 23, [signer], { nowMs: 0 })).length).toBeGreaterThan(400);
  });
});

describe('loadPrivateKey', () => {
  it('throws for bytes that are no key', () => {
    expect(() => loadPrivateKey(Buffer.from('nothing'))).toThrow();
    expect(() => loadPrivateKey(new Uint8Array())).toThrow();
  });
});

describe('rsaBits', () => {
  it('is null for what is no RSA key', () => {
    expect(rsaBits('')).toBeNull();
    expect(rsaBits('AAAA')).toBeNull();
  });
});
