import { expect, it } from 'vitest';
import { firstCall } from './first-call.ts';

const given = {
  origin: 'https://mail.example.com',
  token: 'a.b-c.d_e',
  domains: ['example.com'],
  mayHearOf: [{ Domain: 'example.com', Status: 'Verified' }],
} as const;

it('sends a mail that stays here, where the domain can send', () => {
  expect(firstCall(given)).toContain('"Sandbox":true');
  expect(firstCall({ ...given, domains: ['*'] })).toContain('hello@example.com');
});

it('asks what the token is where nothing could be sent', () => {
  const me = "curl -sS https://mail.example.com/api/v1/me -H 'Authorization: Bearer a.b-c.d_e'";
  expect(firstCall({ ...given, mayHearOf: [{ Domain: 'example.com', Status: 'Pending' }] })).toBe(me);
  expect(firstCall({ ...given, domains: ['other.example'] })).toBe(me);
});
