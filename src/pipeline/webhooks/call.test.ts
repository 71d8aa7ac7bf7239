import { expect, it } from 'vitest';
import { createSealer } from '../../lib/seal.ts';
import { createVirtualClock } from '../../lib/virtual-clock.ts';
import type { Webhook } from '../../model/webhook.ts';
import { createMakeCall, SECRET_SEAL } from './call.ts';

const DAY = 24 * 3_600_000;

it('the secret before a rotation signs until its time has come, and not at it', async () => {
  const clock = createVirtualClock(0);
  const sealer = createSealer([{ id: 'test', secret: new Uint8Array(32).fill(7) }]);
  const seal = (byte: number) => sealer.seal(new Uint8Array(32).fill(byte), SECRET_SEAL);
  const signatures: number[] = [];
  const makeCall = createMakeCall(
    {
      clock,
      sealer,
      http: {
        async post(_url, { headers }) {
          signatures.push(headers?.['webhook-signature']?.split(' ').length ?? 0);
          return { kind: 'failed', reason: 'timeout', detail: 'nobody is there' };
        },
      },
    },
    'never',
  );
  const webhook = {
    url: 'https://example.net/',
    secretSealed: seal(1),
    previousSecretSealed: seal(2),
    previousSecretUntil: DAY,
  } as Webhook;
  await clock.advance(DAY - 1);
  await makeCall(webhook, 'evt', new Uint8Array());
  await clock.advance(1);
  await makeCall(webhook, 'evt', new Uint8Array());
  expect(signatures).toEqual([2, 1]);
});
