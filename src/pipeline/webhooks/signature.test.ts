import { Webhook } from 'standardwebhooks';
import { describe, expect, it } from 'vitest';
import { createSystemRandom } from '../../lib/random.ts';
import { newSecret, signatureHeaders } from './signature.ts';

const random = createSystemRandom();
const body = Buffer.from('{"type":"email.delivered","x":"ü"}');

describe('the signature of a webhook call', () => {
  it('satisfies the published verifier', () => {
    const secret = newSecret(random);
    expect(secret.text).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    const headers = signatureHeaders({ id: 'evt_1', nowMs: Date.now(), body, secrets: [secret.bytes] });
    expect(new Webhook(secret.text).verify(body.toString(), headers)).toEqual(JSON.parse(body.toString()));
  });

  it('fails it when a byte, the id or the time is another', () => {
    const secret = newSecret(random);
    const headers = signatureHeaders({ id: 'evt_1', nowMs: Date.now(), body, secrets: [secret.bytes] });
    const verifier = new Webhook(secret.text);
    expect(() => verifier.verify(`${body.toString()} `, headers)).toThrow();
    expect(() => verifier.verify(body.toString(), { ...headers, 'webhook-id': 'evt_2' })).toThrow();
    const old = signatureHeaders({ id: 'evt_1', nowMs: Date.now() - 600_000, body, secrets: [secret.bytes] });
    expect(() => verifier.verify(body.toString(), old)).toThrow();
    expect(() => new Webhook(newSecret(random).text).verify(body.toString(), headers)).toThrow();
  });

  it('names the second that has begun', () => {
    const secrets = [newSecret(random).bytes];
    const headers = signatureHeaders({ id: 'evt_1', nowMs: 1_999, body, secrets });
    expect(headers['webhook-timestamp']).toBe('1');
  });

  it('is two signatures after a rotation, either of which satisfies', () => {
    const [fresh, old] = [newSecret(random), newSecret(random)];
    const headers = signatureHeaders({
      id: 'evt_1',
      nowMs: Date.now(),
      body,
      secrets: [fresh.bytes, old.bytes],
    });
    expect(headers['webhook-signature'].split(' ')).toHaveLength(2);
    for (const secret of [fresh, old]) new Webhook(secret.text).verify(body.toString(), headers);
  });
});
