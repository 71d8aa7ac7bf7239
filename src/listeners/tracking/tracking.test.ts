/** The routes of personal links, against every kind of request, also hostile ones. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createPersonalTokens, targetDigest } from '../../mail/personal-token.ts';
import { createTrackingRoutes } from './tracking.ts';

const tokens = createPersonalTokens([{ id: 1, secret: new Uint8Array(32).fill(4) }]);
const TARGET = 'https://x.example/a?b=c';
const encoded = Buffer.from(TARGET).toString('base64url');

function world() {
  const seen: string[] = [];
  const routes = createTrackingRoutes({
    tokens,
    publicUrl: () => 'https://post.example.org',
    facts: {
      opened: (id) => void seen.push(`opened ${id}`),
      clicked: (id, link, url) => void seen.push(`clicked ${id} ${link} ${url}`),
      looked: (id) => void seen.push(`looked ${id}`),
      unsubscribe: async (id) => {
        seen.push(`unsubscribed ${id}`);
        return id === 404 ? 'unknown' : 'done';
      },
    },
  });
  const ask = (method: string, path: string, host = 'post.example.org') => {
    const [, kind = '', rest = ''] = /^\/(\w)\/(.*)$/s.exec(path) ?? [];
    const wanted = method === 'HEAD' ? 'GET' : method;
    const found = routes.find((each) => each.method === wanted && each.path.startsWith(`/${kind}/`));
    if (found === undefined) throw new Error(`no route for ${method} ${path}`);
    const params = { token: rest, '*': rest };
    return found.handle({ method, host, params, header: () => 'Firefox', ip: '192.0.2.1' });
  };
  return { seen, ask };
}

const click = (host: string) => tokens.make({ purpose: 'c', host, digest: targetDigest(TARGET) }, 7, 3);
const unsubscribe = (id: number) => tokens.make({ purpose: 'u', host: '', digest: '' }, id, 0);

describe('personal links', () => {
  it('lead to the sealed target, and HEAD does not count', async () => {
    const { ask, seen } = world();
    const path = `/c/${click('')}/${encoded}`;
    expect(await ask('HEAD', path)).toMatchObject({ status: 302, headers: { location: TARGET } });
    expect(seen).toEqual([]);
    await ask('GET', path);
    expect(seen).toEqual([`clicked 7 3 ${TARGET}`]);
  });

  it('are good on the host they were made for, and on no other', async () => {
    const { ask } = world();
    const own = `/c/${click('track.example.com')}/${encoded}`;
    const ours = `/c/${click('')}/${encoded}`;
    const status = async (path: string, host: string) => (await ask('GET', path, host)).status;
    expect(await status(own, 'Track.Example.COM')).toBe(302);
    expect(await status(own, 'track.example.com.')).toBe(302);
    for (const host of ['post.example.org', 'track.example.org', '127.0.0.1', '', 'localhost']) {
      expect([host, await status(own, host)]).toEqual([host, 404]);
    }
    for (const host of ['track.example.com', 'evil.example', '', 'post.example.org.evil.example']) {
      expect([host, await status(ours, host)]).toEqual([host, 404]);
    }
  });

  it('unsubscribe by POST alone, and say so where the mail is gone', async () => {
    const { ask, seen } = world();
    for (const method of ['GET', 'HEAD'])
      expect((await ask(method, `/u/${unsubscribe(7)}`)).status).toBe(200);
    expect(seen).toEqual(['looked 7']);
    expect((await ask('POST', `/u/${unsubscribe(7)}`)).status).toBe(200);
    expect((await ask('POST', `/u/${unsubscribe(404)}`)).status).toBe(410);
    expect(seen.slice(1)).toEqual(['unsubscribed 7', 'unsubscribed 404']);
  });

  it('never redirect, count or throw for what was not made here', async () => {
    const hostile = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 200 }),
      fc.constantFrom(
        `${click('')}`,
        `${click('')}/`,
        `${click('')}/${encoded}/x`,
        `${click('')}/${encoded}=`,
        `${click('')}/${Buffer.from('javascript:alert(1)').toString('base64url')}`,
        `${click('')}/${Buffer.from('https://x.example/\r\nSet-Cookie: a=b').toString('base64url')}`,
        `${click('')}/${Buffer.from('//evil.example').toString('base64url')}`,
        '../../etc/passwd',
        '%2e%2e%2f',
        '0'.repeat(32),
        'a'.repeat(100_000),
      ),
    );
    const { ask, seen } = world();
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('o', 'c', 'u'),
        fc.constantFrom('GET', 'HEAD'),
        hostile,
        async (kind, method, rest) => {
          const answer = await ask(method, `/${kind}/${rest}`);
          expect([answer.status, answer.headers?.location]).toEqual([404, undefined]);
        },
      ),
      { numRuns: 500 },
    );
    expect(seen).toEqual([]);
  });
});
