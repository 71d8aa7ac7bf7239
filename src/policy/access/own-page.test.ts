/** Which requests a development server takes for its own dashboard: each sign by itself is enough to refuse. */
import { describe, expect, it } from 'vitest';
import { isOwnPage } from './own-page.ts';

const READ = { host: '127.0.0.1:8025', 'sec-fetch-site': 'same-origin' };
const CHANGE = { ...READ, origin: 'http://127.0.0.1:8025', 'x-postrider-dashboard': '1' };

function asked(method: string, headers: Readonly<Record<string, string | undefined>>, peer = '127.0.0.1') {
  return isOwnPage({ method, peer, header: (name) => headers[name] });
}

describe('a request of the dashboard', () => {
  it.each([
    ['a read', 'GET', READ],
    ['a frame or a picture, which cannot send the header', 'GET', { ...READ, 'sec-fetch-dest': 'iframe' }],
    [
      'a read of a browser without fetch metadata',
      'GET',
      { host: 'localhost', 'x-postrider-dashboard': '1' },
    ],
    ['a read with its page', 'GET', { ...READ, referer: 'http://127.0.0.1:8025/inbox?x=1' }],
    ['a change', 'POST', CHANGE],
    ['a change by name', 'DELETE', { ...CHANGE, host: 'localhost:8025', origin: 'http://localhost:8025' }],
    ['a change by IPv6', 'PATCH', { ...CHANGE, host: '[::1]:8025', origin: 'http://[::1]:8025' }],
  ])('may be %s', (_, method, headers) => {
    expect(asked(method, headers)).toBe(true);
  });

  it.each([
    ['a name that was made to lead here', 'GET', { ...READ, host: 'rebound.example:8025' }],
    ['a name that only begins like this machine', 'GET', { ...READ, host: '127.0.0.1.example.com' }],
    ['no host', 'GET', { ...READ, host: undefined }],
    ['another site', 'GET', { ...READ, 'sec-fetch-site': 'cross-site' }],
    ['another port of this machine', 'GET', { ...READ, 'sec-fetch-site': 'same-site' }],
    ['an address that was typed', 'GET', { ...READ, 'sec-fetch-site': 'none' }],
    ['a program that says nothing', 'GET', { host: '127.0.0.1:8025' }],
    ['a foreign origin', 'GET', { ...READ, origin: 'http://127.0.0.1:3000' }],
    ['a captured page, whose origin is null', 'POST', { ...CHANGE, origin: 'null' }],
    ['a form, which cannot send the header', 'POST', { ...CHANGE, 'x-postrider-dashboard': undefined }],
    ['a change without origin', 'POST', { ...CHANGE, origin: undefined }],
    ['another port that claims the header', 'POST', { ...CHANGE, origin: 'http://127.0.0.1:3000' }],
    ['a proxy', 'GET', { ...READ, 'x-forwarded-for': '198.51.100.7' }],
    ['a proxy that says no more than how it was asked', 'GET', { ...READ, 'x-forwarded-proto': 'https' }],
    ['a proxy that replaced the host', 'GET', { ...READ, referer: 'https://mail.example.com/inbox' }],
    [
      'a proxy at the beginning of whose name this host stands',
      'GET',
      { ...READ, referer: 'http://127.0.0.1:80255/' },
    ],
    ['a proxy of RFC 7239', 'GET', { ...READ, forwarded: 'for=198.51.100.7' }],
  ])('is not %s', (_, method, headers) => {
    expect(asked(method, headers)).toBe(false);
  });

  it('comes from this machine', () => {
    expect(asked('GET', READ, '::ffff:127.0.0.1')).toBe(true);
    expect(asked('GET', READ, '::1')).toBe(true);
    expect(asked('GET', READ, '192.168.1.20')).toBe(false);
    expect(asked('GET', READ, '')).toBe(false);
  });
});
