/** Verification held against the published Standard Webhooks package as the signer. */
import { Webhook } from 'standardwebhooks';
import { describe, expect, it } from 'vitest';
import { verifyWebhook } from './webhook.ts';

const SECRET = `whsec_${Buffer.from('a secret of thirty-two bytes, ok').toString('base64')}`;
const OTHER = `whsec_${Buffer.from('another of thirty-two bytes, yes').toString('base64')}`;
const NOW = Date.parse('2026-11-21T12:00:00Z');
const PAYLOAD = JSON.stringify({
  type: 'email.bounced',
  timestamp: '2026-11-21T12:00:00.000Z',
  data: { To: 'ünï@example.net' },
});

function call(payload = PAYLOAD, secret = SECRET, at = NOW) {
  return {
    payload,
    headers: {
      'Webhook-Id': 'evt_1',
      'webhook-timestamp': String(Math.floor(at / 1000)),
      'webhook-signature': new Webhook(secret).sign('evt_1', new Date(at), payload),
    } as Record<string, string>,
  };
}

describe('verifyWebhook', () => {
  it('gives the event and its id, from text and from bytes, from an object and from Headers', async () => {
    const { payload, headers } = call();
    const expected = { type: 'email.bounced', id: 'evt_1', data: { To: 'ünï@example.net' } };
    for (const body of [payload, Buffer.from(payload)]) {
      for (const source of [headers, new Headers(headers)]) {
        const event = await verifyWebhook({ payload: body, headers: source, secret: SECRET, now: NOW });
        expect(event).toMatchObject(expected);
      }
    }
  });

  it('takes either secret, and either of two signatures, while one is rotated', async () => {
    const mine = call();
    const theirs = call(PAYLOAD, OTHER);
    const both = `${theirs.headers['webhook-signature']} ${mine.headers['webhook-signature']}`;
    const headers = { ...mine.headers, 'webhook-signature': both };
    await verifyWebhook({ payload: PAYLOAD, headers, secret: SECRET, now: NOW });
    await verifyWebhook({ ...theirs, secret: [SECRET, OTHER], now: NOW });
  });

  it.each<[string, (given: ReturnType<typeof call>) => object, RegExp]>([
    ['another secret', () => ({ secret: OTHER }), /No signature matches/],
    ['a changed body', () => ({ payload: `${PAYLOAD} ` }), /No signature matches/],
    [
      'another id',
      ({ headers }) => ({ headers: { ...headers, 'Webhook-Id': 'evt_2' } }),
      /No signature matches/,
    ],
    [
      'another version of the scheme',
      ({ headers }) => ({
        headers: { ...headers, 'webhook-signature': `v2,${headers['webhook-signature']?.slice(3)}` },
      }),
      /No signature matches/,
    ],
    [
      'a signature that is no base64',
      ({ headers }) => ({ headers: { ...headers, 'webhook-signature': 'v1,%%%' } }),
      /No signature matches/,
    ],
    ['no headers', () => ({ headers: {} }), /webhook-id is missing/],
    [
      'a time in words',
      ({ headers }) => ({ headers: { ...headers, 'webhook-timestamp': 'now' } }),
      /is no time/,
    ],
    ['an old call', () => ({ now: NOW + 301_000 }), /301 s away/],
    ['a call from the future', () => ({ now: NOW - 301_000 }), /301 s away/],
    ['an empty secret', () => ({ secret: 'whsec_' }), /The secret is not one/],
  ])('refuses %s', async (_name, change, message) => {
    const given = call();
    await expect(verifyWebhook({ ...given, secret: SECRET, now: NOW, ...change(given) })).rejects.toThrow(
      message,
    );
  });
});
