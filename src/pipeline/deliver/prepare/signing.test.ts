/** Which keys sign: asked for every recipient, while the work of signing is done once per message and keys. */
import { describe, expect, it } from 'vitest';
import { messageOf, rsa, rsaSigner } from '../../../../test/fakes/dkim-pair.ts';
import { createVirtualClock } from '../../../lib/virtual-clock.ts';
import { createDkimSigner } from '../../../mail/dkim.ts';
import { testDelivery } from '../../queue/test-items.ts';
import { createSigning, type SignersAnswer, type SigningResult } from './signing.ts';

const { message, bodyOffset } = messageOf(['From: ann@example.com', 'Subject: Hello'], 'Hello\r\n');
const delivery = testDelivery({ messageSeq: 7, bodyOffset });
const next = createDkimSigner({
  domain: 'example.com',
  selector: 'pr2',
  privateKey: rsa.privateKey,
});
const HELD = { kind: 'held', category: 'domain_not_verified', detail: 'no longer registered' } as const;

function signing(first: SignersAnswer) {
  const clock = createVirtualClock();
  const now = { answer: first };
  const signers = { signersFor: async () => now.answer };
  return { clock, now, ...createSigning({ clock, signers }) };
}

const signed = (...signers: (typeof rsaSigner)[]): SignersAnswer => ({ kind: 'signers', signers });

function headerOf(result: SigningResult): string {
  if (result.kind !== 'signed') throw new Error(`not signed: ${result.kind}`);
  return Buffer.from(result.header).toString('latin1');
}

describe('signing', () => {
  it('is done once for all recipients of a message while the keys are the same', async () => {
    const { sign, now } = signing(signed(rsaSigner));
    const first = await sign(delivery, message);
    // The same key, read from the store once more.
    now.answer = signed({ ...rsaSigner });
    expect(await sign({ ...delivery, id: 2 }, message)).toBe(first);
  });

  it('goes by the key that signs now, at every attempt', async () => {
    const { sign, now } = signing(signed(rsaSigner));
    expect(headerOf(await sign(delivery, message))).toContain('s=pr1;');
    now.answer = signed(next);
    expect(headerOf(await sign(delivery, message))).toContain('s=pr2;');
    now.answer = signed(rsaSigner, next);
    expect(headerOf(await sign(delivery, message)).match(/s=pr\d;/g)).toEqual(['s=pr1;', 's=pr2;']);
  });

  it('notices another key under the same selector', async () => {
    const { sign, now } = signing(signed(rsaSigner));
    const first = headerOf(await sign(delivery, message));
    const { generateKeyPairSync } = await import('node:crypto');
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    now.answer = signed({ ...rsaSigner, privateKey });
    expect(headerOf(await sign(delivery, message))).not.toBe(first);
  });

  it('is done anew where the message was given another Date', async () => {
    const { sign } = signing(signed(rsaSigner));
    const lines = (date: string) => ['From: ann@example.com', `Date: ${date}`, 'Subject: Hello'];
    const before = messageOf(lines('Mon, 23 Nov 2026 08:00:00 +0000'), 'Hello\r\n');
    const after = messageOf(lines('Mon, 23 Nov 2026 08:30:00 +0000'), 'Hello\r\n');
    const row = testDelivery({ messageSeq: 7, bodyOffset: before.bodyOffset });
    const first = headerOf(await sign(row, before.message));
    expect(headerOf(await sign(row, after.message))).not.toBe(first);
  });

  it('ends where the domain may not send any more, whatever was signed before', async () => {
    const { sign, now } = signing(signed(rsaSigner));
    await sign(delivery, message);
    now.answer = HELD;
    expect(await sign(delivery, message)).toEqual(HELD);
    now.answer = { kind: 'unsigned', reason: 'signing is switched off' };
    expect(await sign(delivery, message)).toEqual(now.answer);
  });

  it('is done anew for an attempt an hour later, so that the time in it is near that of sending', async () => {
    const { sign, clock } = signing(signed(rsaSigner));
    const first = headerOf(await sign(delivery, message));
    await clock.advance(3_600_000);
    expect(headerOf(await sign(delivery, message))).not.toBe(first);
  });
});
