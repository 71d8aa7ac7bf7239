import { describe, expect, it } from 'vitest';
import { parseRoute, readRouting, routingRows } from './config-routing.ts';
import type { Route } from './model/route.ts';

function read(file: Record<string, unknown>, final: readonly Route[] = [{ kind: 'mx' }]) {
  const problems: string[] = [];
  return { routing: readRouting(file, final, problems), problems };
}

const SOURCES = [
  { id: 'a', address: '192.0.2.1', ehlo: 'mail1.example.com', newSince: '2026-11-01', node: 'one' },
  { id: 'b', address: '192.0.2.2', pool: 'bulk', shared: true },
];

describe('sources and routes of postrider.json', () => {
  it('are read, and shown without passwords', () => {
    const { routing, problems } = read({
      sources: SOURCES,
      routes: [
        { senderDomain: 'shop.example', priority: 'bulk', route: 'pool:bulk' },
        {
          recipientDomain: ['corp.example', '*.corp.example'],
          route: ['smtp://u:secret@mail.example', 'mx'],
        },
        { route: 'sandbox' },
      ],
    });
    expect(problems).toEqual([]);
    expect(routing.sources).toEqual([
      {
        id: 'a',
        address: '192.0.2.1',
        ipv6: null,
        ehlo: 'mail1.example.com',
        pool: 'default',
        newSince: Date.UTC(2026, 10, 1),
        shared: false,
        node: 'one',
      },
      {
        ...{ id: 'b', address: '192.0.2.2', ipv6: null, ehlo: null, pool: 'bulk', newSince: null },
        ...{ shared: true, node: null },
      },
    ]);
    expect(routing.routes[1]).toMatchObject({
      senderDomain: null,
      recipientDomain: ['corp.example', '*.corp.example'],
      targets: [
        { kind: 'relay', host: 'mail.example', auth: { user: 'u', password: 'secret' } },
        { kind: 'mx' },
      ],
    });
    expect(routingRows(routing).map(({ key, value }) => `${key}: ${value}`)).toEqual([
      'sources[0]: a 192.0.2.1, ehlo mail1.example.com, pool default, new since 2026-11-01, node one',
      'sources[1]: b 192.0.2.2, pool bulk, shared',
      'routes[0]: senderDomain shop.example, priority bulk → pool:bulk',
      'routes[1]: recipientDomain corp.example|*.corp.example → smtp://(secret)@mail.example,mx',
      'routes[2]: everything → sandbox',
    ]);
  });

  it.each<[Record<string, unknown>, RegExp]>([
    [{ sources: [{ ...SOURCES[1], node: 'one' }] }, /sources\[0\]\.shared: .*only one/],
    [{ sources: [{ ...SOURCES[0], node: '../x' }] }, /sources\[0\]\.node/],
    [{ routes: {} }, /^postrider\.json: routes: must be a list/],
    [{ routes: [5] }, /routes\[0\]: must be an object/],
    [
      { routes: [{ route: 'mx' }, { to: 'x', route: 'mx' }] },
      /routes\[1\]\.to: unknown key; known keys: senderDomain/,
    ],
    [{ routes: [{}] }, /routes\[0\]\.route: is missing: use sandbox, mx, pool:NAME/],
    [
      { routes: [{ route: ['mx', 'smtps://user@relay.example'] }] },
      /routes\[0\]\.route: "smtps:\/\/\(secret\)@relay\.example": the login has a user and no password/,
    ],
    [{ routes: [{ route: [] }] }, /routes\[0\]\.route: \[\]: use sandbox/],
    [{ routes: [{ route: 'http://x' }] }, /routes\[0\]\.route: "http:.*": use sandbox/],
    [
      { routes: [{ senderDomain: 'Shop.Example', route: 'mx' }] },
      /senderDomain: "Shop\.Example": use a lower-case domain/,
    ],
    [
      { routes: [{ recipientDomain: ['ok.example', '*'], route: 'mx' }] },
      /recipientDomain: "\*": use a lower-case/,
    ],
    [{ routes: [{ priority: 'fast', route: 'mx' }] }, /priority: "fast": use critical, normal, bulk/],
    [
      { routes: [{ tag: ['ok', 'two\nlines'], route: 'mx' }] },
      /routes\[0\]\.tag: "two\\nlines": use a tag as messages have it/,
    ],
    [
      { routes: [{ route: 'pool:none' }] },
      /routes\[0\]\.route: no source is in the pool "none"; there are no sources/,
    ],
    [{ sources: SOURCES, routes: [{ route: ['pool:bulk', 'mx'] }] }, /names mx or a pool more than once/],
    [{ routes: [{ route: ['sandbox', 'mx'] }] }, /sandbox stands beside other ways/],
    [{ sources: [{ id: 'a b', address: '192.0.2.1' }] }, /sources\[0\]\.id: "a b": use 1 to 32/],
    [
      { sources: [{ id: 'a', address: 'mail.example' }] },
      /sources\[0\]\.address: "mail\.example": use an IPv4 address/,
    ],
    [
      { sources: [{ id: 'a', address: '2001:db8::1' }] },
      /sources\[0\]\.address: .*IPv6 address is given as "ipv6"/,
    ],
    [{ sources: [{ id: 'a' }] }, /sources\[0\]\.address: is missing: use an IPv4 address .* or set "ipv6"/],
    [{ sources: [{ id: 'a', address: '224.0.0.1' }] }, /sources\[0\]\.address: "224\.0\.0\.1": .*multicast/],
    ...(
      [
        ['mail.example', /use an IPv6 address of this machine/],
        [true, /true: use an IPv6 address of this machine/],
        ['192.0.2.1', /an IPv4 address is given as "address"/],
        ['fe80::1', /a link-local address reaches no host/],
        ['FEBF::1%eth0', /a link-local address reaches no host/],
        ['2001:db8::1%eth0', /leave out what follows the percent sign/],
        ['ff02::1', /nothing is sent from a multicast address/],
        ['::ffff:192.0.2.1', /this is an IPv4 address in the form of IPv6; give it as "address"/],
        ['::FFFF:c000:201', /this is an IPv4 address in the form of IPv6/],
        ['::', /this is no address/],
      ] as const
    ).map(([ipv6, problem]): [Record<string, unknown>, RegExp] => [
      { sources: [{ ...SOURCES[0], ipv6 }] },
      new RegExp(`sources\\[0\\]\\.ipv6: .*${problem.source}`),
    ]),
    [
      {
        sources: [
          { id: 'a', address: '192.0.2.1', ipv6: '2001:db8::1' },
          { id: 'b', address: '192.0.2.2', ipv6: '2001:DB8:0::1' },
        ],
      },
      /sources\[1\]\.ipv6: "2001:db8::1" is another source's/,
    ],
    [
      { sources: [SOURCES[0], { id: 'six', ipv6: '2001:db8::1' }] },
      /sources\[1\]\.pool: "default" also has sources with an IPv4 address/,
    ],
    [{ sources: [{ id: 'a', address: '192.0.2.1', ehlo: 'x' }] }, /sources\[0\]\.ehlo: "x": use the name/],
    [
      { sources: [{ id: 'a', address: '192.0.2.1', newSince: '2026-13-01' }] },
      /newSince: "2026-13-01": use the date/,
    ],
    [
      { sources: [SOURCES[0], { id: 'a', address: '192.0.2.9' }] },
      /sources\[1\]\.id: "a" is another source's/,
    ],
    [
      { sources: [SOURCES[0], { id: 'c', address: '192.0.2.1' }] },
      /sources\[1\]\.address: "192\.0\.2\.1" is another/,
    ],
  ])('with a mistake name the place, the value and the fix: %j', (file, problem) => {
    expect(read(file).problems.join('\n')).toMatch(problem);
  });

  it('have an IPv6 address beside or in place of the IPv4 address, in its shortest form', () => {
    const { routing, problems } = read({
      sources: [
        { id: 'both', address: '192.0.2.1', ipv6: '2001:0DB8:0:0::A' },
        { id: 'six', ipv6: '2001:db8::b', pool: 'six' },
      ],
    });
    expect(problems).toEqual([]);
    expect(routing.sources).toMatchObject([
      { address: '192.0.2.1', ipv6: '2001:db8::a' },
      { address: null, ipv6: '2001:db8::b' },
    ]);
    expect(routingRows(routing).map(({ value }) => value)).toEqual([
      'both 192.0.2.1 2001:db8::a, pool default',
      'six 2001:db8::b, pool six',
    ]);
  });

  it('never show a password of a route that cannot be read', () => {
    const { problems } = read({ routes: [{ route: 'smtp://u:secret@bad host/' }] });
    expect(problems.join('\n')).not.toContain('secret@');
    expect(problems).toHaveLength(1);
  });

  it('never show one in any place where it can be written by mistake', () => {
    const secret = 'smtp:u:hunter2@mail.example';
    for (const file of [
      { routes: [secret] },
      { routes: [{ route: secret }] },
      { routes: [{ route: { url: secret } }] },
      { routes: [{ route: [[secret]] }] },
      { routes: secret },
    ]) {
      const { problems } = read(file);
      expect(problems.length).toBeGreaterThan(0);
      expect(problems.join('\n')).not.toContain('hunter2');
    }
  });

  it('hold the key route to the same pools', () => {
    const pool = parseRoute('pool:bulk');
    expect(pool).toEqual({ kind: 'mx', pool: 'bulk' });
    expect(read({}, pool === null ? [] : [pool]).problems).toHaveLength(1);
    expect(read({ sources: SOURCES }, pool === null ? [] : [pool]).problems).toEqual([]);
  });
});
