import { describe, expect, it } from 'vitest';
import { LIMIT_NAMES } from './limit-values.ts';
import { createShaping, shippedShaping } from './shaping.ts';
import type { Override, OverrideScope, PathQuery } from './types.ts';

const NONE = { of: () => [] };
const GENERAL: PathQuery = { source: '', site: 'mx:example.com', provider: null, route: 'mx' };
const google = (more: Partial<PathQuery> = {}): PathQuery => ({
  ...GENERAL,
  site: 'google',
  provider: 'google',
  ...more,
});

function shaping(overrides: readonly Partial<Override>[] = [], maxConnections: number | null = null) {
  const of = (scope: OverrideScope, key: string) =>
    overrides
      .filter((one) => one.scope === scope && one.key === key)
      .map((one, i): Override => {
        const usual = {
          param: 'connections',
          value: 1,
          until: 9e12,
          rule: 'r',
          why: '',
          createdAt: 0,
        } as const;
        return { id: `o${i}`, scope, key, ...usual, ...one };
      });
  return createShaping({ of }, { maxConnections, sourceIds: new Set(['a', 'b']) });
}

/** Uses an operator's file; gives its problems. */
function use(into: ReturnType<typeof shaping>, rows: unknown): readonly string[] {
  const text = typeof rows === 'string' ? rows : JSON.stringify(rows, null, 1);
  const used = into.useOperatorFile(text, 'shaping.json');
  return used.kind === 'refused' ? used.problems : [];
}

describe('the shipped shaping data', () => {
  const rows = shippedShaping();

  it('names every limit in the row default, and says of each row since when and why', () => {
    expect(Object.keys(rows.find(({ id }) => id === 'default')?.limits ?? {}).sort()).toEqual(
      [...LIMIT_NAMES].sort(),
    );
    for (const row of rows) {
      expect(row.since, row.id).toMatch(/^\d{4}-\d{2}$/);
      expect(row.source, row.id).toBeTruthy();
    }
  });

  it('knows its providers by the ends of their hosts, or by the domain', () => {
    const data = shaping();
    const cases: readonly (readonly [string, readonly string[], string | null, boolean])[] = [
      ['gmail.com', ['gmail-smtp-in.l.google.com', 'alt1.gmail-smtp-in.l.google.com'], 'google', true],
      ['firm.example', ['ASPMX.L.GOOGLE.COM.', 'alt1.aspmx.l.google.com'], 'google', true],
      ['hotmail.com', ['hotmail-com.olc.protection.outlook.com'], 'outlook', true],
      ['firm.example', ['firm-example.mail.protection.outlook.com'], 'office365', false],
      ['yahoo.com', ['mta5.am0.yahoodns.net', 'mta6.am0.yahoodns.net'], 'yahoo', true],
      ['yahoo.co.jp', ['mx1.mail.yahoo.co.jp'], 'yahoo.co.jp', true],
      ['comcast.net', ['mx1.mxge.comcast.net'], 'comcast', true],
      ['firm.example', ['mxa-1.gslb.pphosted.com'], 'proofpoint', false],
      ['mixed.example', ['aspmx.l.google.com', 'mx.mixed.example'], null, false],
      ['other.example', ['mx.notgoogle.com'], null, false],
      ['other.example', ['google.com.example'], null, false],
      ['other.example', [], null, false],
    ];
    for (const [domain, hosts, provider, oneSite] of cases)
      expect(data.groupingOf(domain, hosts), hosts.join()).toEqual({ provider, oneSite });
  });

  it('begins with the default, and changes what the provider names', () => {
    const { limits, origins } = shaping().limitsFor(google());
    expect(limits).toMatchObject({
      connections: 5,
      messagesPerConnection: 50,
      tls: 'required',
      idleMs: 15_000,
    });
    expect(origins.connections).toEqual({ kind: 'data', row: 'google', since: expect.any(String) });
    expect(origins.idleMs).toMatchObject({ row: 'default' });
  });

  it('never asks a small site for more than the operator asks of any', () => {
    const data = shaping();
    const rows = [
      { id: 'default', limits: { connections: 1, messagesPerConnection: 10, messagesPerSecond: 50 } },
    ];
    expect(data.useOperatorFile(JSON.stringify(rows), 'shaping.json').kind).toBe('used');
    const { limits, origins } = data.limitsFor({ ...GENERAL, messagesLastDay: 0 });
    expect(limits).toMatchObject({ connections: 1, messagesPerConnection: 10, messagesPerSecond: 5 });
    expect(origins.connections).toEqual({ kind: 'user', row: 'default' });
    const small = [...rows, { id: 'small', limits: { connections: 7 } }];
    data.useOperatorFile(JSON.stringify(small), 'shaping.json');
    expect(data.limitsFor({ ...GENERAL, messagesLastDay: 0 }).limits.connections).toBe(7);
  });

  it('goes gently with small sites of no provider, and lets relays have more', () => {
    const data = shaping();
    const at = (more: Partial<PathQuery>) => data.limitsFor({ ...GENERAL, ...more }).limits;
    expect(at({}).connections).toBe(10);
    expect(at({ messagesLastDay: 49 })).toMatchObject({ connections: 2, messagesPerConnection: 20 });
    expect(at({ messagesLastDay: 50 }).connections).toBe(10);
    expect(data.limitsFor(google({ messagesLastDay: 0 })).limits.connections).toBe(5);
    expect(at({ route: 'relay', site: 'relay:mail.example:25' })).toMatchObject({
      messagesPerConnection: 1000,
      messagesPerSecond: null,
      newConnectionsPerMinute: null,
    });
  });
});

describe('the key max-connections', () => {
  it('replaces the figure of general rows, and caps that of a provider', () => {
    expect(shaping([], 50).limitsFor(google()).limits.connections).toBe(5);
    expect(shaping([], 50).limitsFor(GENERAL).limits.connections).toBe(50);
    const data = shaping([], 3);
    expect(data.limitsFor(GENERAL)).toMatchObject({
      limits: { connections: 3 },
      origins: { connections: { kind: 'config', key: 'max-connections' } },
    });
    expect(data.limitsFor({ ...GENERAL, route: 'relay', site: 'relay:h:25' }).limits.connections).toBe(3);
    expect(data.limitsFor(google()).limits.connections).toBe(3);
  });

  it('gives way to the operator’s own row', () => {
    const data = shaping([], 3);
    use(data, [{ id: 'default', limits: { connections: 7 } }]);
    expect(data.limitsFor(GENERAL).limits.connections).toBe(7);
  });
});

describe('the operator’s file', () => {
  it('changes single figures of a shipped row, also for one source, and says so', () => {
    const data = shaping();
    const rows = [{ id: 'google', limits: { connections: 2 }, sources: { a: { messagesPerSecond: 1 } } }];
    expect(use(data, rows)).toEqual([]);
    const { limits, origins } = data.limitsFor(google({ source: 'a' }));
    expect(limits).toMatchObject({ connections: 2, messagesPerSecond: 1, messagesPerConnection: 50 });
    expect(origins).toMatchObject({
      connections: { kind: 'user', row: 'google' },
      messagesPerSecond: { kind: 'user', row: 'google' },
      messagesPerConnection: { kind: 'data', row: 'google' },
    });
    expect(data.limitsFor(google({ source: 'b' })).limits.messagesPerSecond).toBe(20);
  });

  it('adds providers and relays, whose hosts win over shipped rows of the same end', () => {
    const data = shaping();
    use(data, [
      { id: 'partner', mx: ['.l.google.com'], domains: ['partner.example'], limits: { connections: 1 } },
      { id: 'smarthost', relays: ['mail.example:587'], limits: { connections: 4 } },
    ]);
    expect(data.groupingOf('x.example', ['aspmx.l.google.com'])).toEqual({
      provider: 'partner',
      oneSite: true,
    });
    expect(data.groupingOf('Partner.Example', []).provider).toBe('partner');
    const relay = (site: string) => data.limitsFor({ ...GENERAL, route: 'relay', site }).limits;
    for (const site of ['relay:mail.example:587|b.example', 'relay:a.example:25|relay:mail.example:587#2'])
      expect(relay(site)).toMatchObject({ connections: 4, messagesPerConnection: 1000 });
    expect(relay('relay:mail.example:25').connections).toBe(80);
  });

  it('takes effect at once when it is exchanged, and goes away again', () => {
    const data = shaping();
    expect(data.limitsFor(google()).limits.connections).toBe(5);
    use(data, [{ id: 'google', limits: { connections: 2 } }]);
    expect(data.limitsFor(google()).limits.connections).toBe(2);
    data.useShippedOnly();
    expect(data.limitsFor(google()).limits.connections).toBe(5);
  });

  it.each<[string, unknown, RegExp]>([
    ['no list', { id: 'google' }, /line 1: must hold a list of rows/],
    ['no JSON', '[\n{"id": "a"\n"limits": {}}]', /line 3: is not JSON/],
    [
      'an unknown key',
      '[{"id": "a",\n"limit": {}}]',
      /line 2: row "a": unknown key "limit"; known keys: id, mx/,
    ],
    [
      'an unknown limit',
      '[{"id": "a",\n"limits": {\n"conns": 1}}]',
      /line 3: row "a": unknown limit "conns"; known/,
    ],
    [
      'a bad number',
      '[{"id": "a", "limits":\n{"connections": 0}}]',
      /line 2: row "a" connections 0: use a whole num/,
    ],
    ['a number as text', [{ id: 'a', limits: { messagesPerSecond: '5' } }], /"5": use a number from/],
    [
      'no limit where there must be one',
      [{ id: 'a', limits: { connections: null } }],
      /connections null: use a whole/,
    ],
    [
      'a suffix without its dot',
      '[{"id": "a", "mx": [\n".ok.example",\n"bad.example"]}]',
      /line 3: .*"bad.example": use a lower-case end/,
    ],
    ['a suffix in capitals', [{ id: 'a', mx: ['.EXAMPLE.net'] }], /mx ".EXAMPLE.net": use a lower-case end/],
    ['a pattern', [{ id: 'a', domains: ['*.example'] }], /domains "\*.example": use a lower-case domain/],
    ['a twin', '[{"id": "a"},\n{"id": "a"}]', /line 2: row "a" id|line 2: row "a": another row has this id/],
    [
      'a key twice',
      '[{"id": "a", "limits": {\n"tls": "required",\n"tls": "opportunistic"}}]',
      /line 3: "tls" stands twice/,
    ],
    [
      'a row that applies to nothing',
      [{ id: 'gogle', limits: { connections: 1 } }],
      /row "gogle": applies to nothing.*name its hosts by mx, domains or relays.*did you mean google\?/,
    ],
    ['hosts of a general row', [{ id: 'default', mx: ['.example.net'] }], /takes limits only/],
    [
      'a source that is not configured',
      [{ id: 'google', sources: { c: {} } }],
      /no source "c"; configured are a, b/,
    ],
    ['no id', '[{"mx": [".x.example"]}]', /row 1 id is missing/],
    ['a list as a row', [[]], /row 1: use an object/],
  ])('refuses %s with its place and what to do, and keeps the old rows', (_what, rows, problem) => {
    const data = shaping();
    use(data, [{ id: 'google', limits: { connections: 2 } }]);
    const problems = use(data, rows);
    expect(problems.join('\n')).toMatch(problem);
    for (const one of problems) expect(one).toMatch(/^shaping\.json: line \d+: /);
    expect(data.limitsFor(google()).limits.connections).toBe(2);
  });
});

describe('overrides over the data', () => {
  const path = { scope: 'path', key: '>google' } as const;

  it('ask for less, never for more; the strictest counts and is named', () => {
    const data = shaping([
      { ...path, value: 3, rule: 'G01' },
      { ...path, value: 2, rule: 'G02', until: 5000 },
      { ...path, value: 9, rule: 'operator' },
      { ...path, param: 'tls', value: 'opportunistic' },
    ]);
    const { limits, origins } = data.limitsFor(google());
    expect(limits).toMatchObject({ connections: 2, tls: 'required' });
    expect(origins.connections).toEqual({ kind: 'override', id: 'o1', rule: 'G02', until: 5000 });
  });

  it('set a limit where there was none, and leave other paths alone', () => {
    const data = shaping([{ scope: 'path', key: '>relay:h:25', param: 'messagesPerSecond', value: 0.5 }]);
    const relay = { ...GENERAL, route: 'relay', site: 'relay:h:25' } as const;
    expect(data.limitsFor(relay).limits.messagesPerSecond).toBe(0.5);
    expect(data.limitsFor({ ...relay, source: 'a' }).limits.messagesPerSecond).toBeNull();
  });

  it('hold for a sender domain at a site or a provider only where it is asked about', () => {
    const data = shaping([
      { scope: 'tenant@site', key: 'shop.example@google', value: 3 },
      { scope: 'domain@provider', key: 'shop.example@google', value: 2 },
    ]);
    expect(data.limitsFor(google()).limits.connections).toBe(5);
    expect(data.limitsFor(google({ senderDomain: 'other.example' })).limits.connections).toBe(5);
    expect(data.limitsFor(google({ senderDomain: 'shop.example' })).limits.connections).toBe(2);
  });

  it('do nothing with a value that is no limit', () => {
    const data = shaping([
      { ...path, value: -1 },
      { ...path, param: 'suspended', value: 'yes' },
    ]);
    expect(data.limitsFor(google())).toEqual(
      createShaping(NONE, { maxConnections: null, sourceIds: new Set() }).limitsFor(google()),
    );
  });
});

describe('the key transactions-in-flight', () => {
  const with4 = () =>
    createShaping(NONE, { maxConnections: null, transactionsInFlight: 4, sourceIds: new Set<string>() });
  const relay: PathQuery = { ...GENERAL, site: 'relay:far.example:25', route: 'relay' };

  it('replaces the shipped value, for relays and for everybody else', () => {
    for (const query of [GENERAL, google(), relay]) {
      const { limits, origins } = with4().limitsFor(query);
      expect(limits.transactionsInFlight).toBe(4);
      expect(origins.transactionsInFlight).toEqual({ kind: 'config', key: 'transactions-in-flight' });
    }
    expect(shaping().limitsFor(relay).limits.transactionsInFlight).toBe(16);
    expect(shaping().limitsFor(GENERAL).limits.transactionsInFlight).toBe(1);
  });

  it('gives way to a row of the operator', () => {
    const data = with4();
    use(data, [{ id: 'relay', limits: { transactionsInFlight: 8 } }]);
    expect(data.limitsFor(relay).limits.transactionsInFlight).toBe(8);
  });
});
