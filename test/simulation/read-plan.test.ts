/** Plan files: what is wrong is told with its place, its value and the correction; the examples are right. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { EXAMPLES, type ExampleName, exampleText } from '../../src/simulation/plan/examples.ts';
import { readPlan } from '../../src/simulation/plan/read-plan.ts';

const HOW_TO = readFileSync(join(import.meta.dirname, '..', '..', 'docs/howto/simulate.md'), 'utf8');
const MAIL = [{ provider: 'google', recipients: 10 }];

function problems(plan: unknown, own: Parameters<typeof readPlan>[2] = null): readonly string[] {
  const read = readPlan(typeof plan === 'string' ? plan : JSON.stringify(plan), 'plan.json', own);
  return read.kind === 'refused' ? read.problems : [];
}

describe('a plan file', () => {
  it.each(Object.keys(EXAMPLES) as ExampleName[])('of the example %s is right', (name) => {
    expect(problems(exampleText(name))).toEqual([]);
    // The how-to shows it as it is.
    expect(HOW_TO).toContain(exampleText(name));
  });

  it.each([
    ['{', 'plan.json: line 1: is not JSON'],
    ['[]', 'plan.json: must hold one JSON object; `simulate --example` prints one'],
    ['{"days": 1, "days": 2, "mail": []}', 'plan.json: line 1: a key stands twice in one object; keep one'],
    [{}, 'plan.json: mail: is missing; name at least one kind of mail, e.g. {"provider"'],
    [{ mail: 'all' }, 'plan.json: mail: must be a list of at most 200 objects'],
    [{ mail: [7] }, 'plan.json: mail[0]: 7: use an object'],
    [{ mail: [{ recipients: 5 }] }, 'plan.json: mail[0].provider: is missing; known are google,'],
    [
      { mail: [{ provider: 'gogle', recipients: 5 }] },
      'plan.json: mail[0].provider: "gogle": no such provider (did you mean google?); known are google, outlook,',
    ],
    [
      { mail: [{ provider: 'google' }] },
      'plan.json: mail[0].recipients: is missing; use a whole number from 1 to 100000000',
    ],
    [
      { mail: [{ ...MAIL[0], lane: 'fast' }] },
      'plan.json: mail[0].lane: "fast": use one of critical, normal, bulk',
    ],
    [
      { mail: [{ ...MAIL[0], from: '25:00' }] },
      'plan.json: mail[0].from: "25:00": use a time of day (UTC) from "00:00" to "24:00"',
    ],
    [
      { mail: [{ ...MAIL[0], from: '08:60' }] },
      'plan.json: mail[0].from: "08:60": use a time of day (UTC) from "00:00" to "24:00"',
    ],
    [
      { mail: [{ ...MAIL[0], from: '12:00', until: '08:00' }] },
      'plan.json: mail[0].until: is before mail[0].from; mail over midnight is two entries',
    ],
    [
      { mail: [{ ...MAIL[0], days: [3] }], days: 2 },
      'plan.json: mail[0].days: [3]: use a list of whole numbers from 1 to 2',
    ],
    [{ mail: MAIL, nodes: 0 }, 'plan.json: nodes: 0: use a whole number from 1 to 16'],
    [{ mail: MAIL, node: 1 }, 'plan.json: node: unknown key; known keys: start, days, nodes,'],
    [{ mail: MAIL, start: 'Monday' }, 'plan.json: start: "Monday": use a date, e.g. "2027-01-31"'],
    [
      { mail: MAIL, sources: [{ id: 'mail1', address: 'here' }] },
      'plan.json: sources[0].address: "here": use an IPv4 address of this machine, e.g. "192.0.2.10"',
    ],
    [
      { mail: MAIL, sources: [{ id: 'mail1', address: '192.0.2.1', age: -1 }] },
      'plan.json: sources[0].age: -1: use a whole number from 0 to 10000',
    ],
    [
      { mail: MAIL, route: 'smtp://user:secret@relay:99999999' },
      'plan.json: route: "(not shown: it may hold a password)": use mx, pool:NAME, smtp://host:port, or a list of these',
    ],
    [
      { mail: MAIL, limits: [{ id: 'google', limits: { connections: 'many' } }] },
      'plan.json: limits: row "google" connections "many": use a whole number from 1 to 1000',
    ],
    [
      { mail: MAIL, limits: [{ id: 'gogle', limits: { connections: 1 } }] },
      'plan.json: limits: row "gogle": applies to nothing, because no shipped row has this id;',
    ],
    [
      { mail: MAIL, faults: [{ at: 'relay1', what: 'defers', for: '2h' }] },
      'plan.json: faults[0].at: "relay1": no such provider or relay; known are google,',
    ],
    [
      { mail: MAIL, faults: [{ at: '*', what: 'explodes', for: '2h' }] },
      'plan.json: faults[0].what: "explodes": use one of defers, rejects,',
    ],
    [
      { mail: MAIL, faults: [{ at: '*', what: 'slow', for: '2h' }] },
      'plan.json: faults[0].seconds: is missing; use a number from 0.1 to 100000',
    ],
    [
      { mail: MAIL, faults: [{ at: '*', what: 'defers', for: 'long' }] },
      'plan.json: faults[0].for: "long": use a time, e.g. "2h" or "30m"',
    ],
    [
      { mail: MAIL, farEnds: [{ name: 'google', roundTripMs: 1e9 }] },
      'plan.json: farEnds[0].roundTripMs: 1000000000: use a whole number from 0 to 10000',
    ],
  ])('%j is refused in one sentence', (plan, problem) => {
    const found = problems(plan);
    expect(found).toHaveLength(1);
    expect(found[0]?.startsWith(problem), found[0]).toBe(true);
    expect(found[0]).not.toContain('secret');
  });

  it('gives sources to the nodes that it names, and the others to all in turn', () => {
    const sources = [1, 2, 3].map((n) => ({
      id: `s${n}`,
      address: `192.0.2.${n}`,
      ...(n === 1 ? { node: 2 } : {}),
    }));
    const read = readPlan(JSON.stringify({ mail: MAIL, nodes: 2, sources }), 'plan.json', null);
    expect(read).toMatchObject({ plan: { sources: [{ node: 2 }, { node: 2 }, { node: 1 }] } });
  });

  it('tells every mistake at once', () => {
    expect(problems({ days: 0, nodes: 99, mail: [{ provider: 'x', recipients: 0 }] })).toHaveLength(4);
  });

  it('plays a source without an IPv4 address with another in its place', () => {
    const sources = [
      { id: 'four', address: '192.0.2.1' },
      { id: 'six', ipv6: '2001:db8::1', pool: 'six' },
    ];
    const read = readPlan(JSON.stringify({ mail: MAIL, sources }), 'plan.json', null);
    expect(read).toMatchObject({
      plan: {
        sources: [
          { address: '192.0.2.1', ipv6: null },
          { address: '198.18.0.1', ipv6: '2001:db8::1' },
        ],
      },
    });
    expect(problems({ mail: MAIL, sources: [{ id: 'six', ipv6: 'fe80::1' }] })).toEqual([
      expect.stringContaining('sources[0].ipv6: "fe80::1": a link-local address'),
    ]);
  });

  it("takes sources and routes from the operator's configuration, and then has none of its own", () => {
    const own = {
      targets: [{ kind: 'mx' }],
      routing: {
        sources: [
          { id: 'new', address: '192.0.2.1', pool: 'default', newSince: Date.UTC(2027, 0, 1) },
          { id: 'old', address: '192.0.2.2', pool: 'default', newSince: null },
        ].map((source) => ({ ...source, ipv6: null, ehlo: null, shared: false, node: null })),
        routes: [],
      },
      limits: [
        { id: 'partner', mx: ['.partner.example'], limits: { connections: 7 } },
        { id: 'google', limits: { connections: 3 } },
      ],
      keys: {
        maxConnections: null,
        transactionsInFlight: null,
        retry: null,
        maxAgeMs: null,
        queueLimit: null,
      },
      startAt: Date.UTC(2027, 0, 11),
    } as const;
    const limits = [{ id: 'google', limits: { messagesPerSecond: 2 } }];
    const read = readPlan(
      JSON.stringify({ mail: [{ provider: 'partner', recipients: 1 }], limits }),
      'plan.json',
      own,
    );
    expect(read).toMatchObject({
      plan: {
        sources: [
          { id: 'new', ageDays: 10 },
          { id: 'old', ageDays: null },
        ],
        startAt: own.startAt,
        limits: [
          { id: 'partner', limits: { connections: 7 } },
          { id: 'google', limits: { connections: 3, messagesPerSecond: 2 } },
        ],
      },
    });
    expect(problems({ mail: MAIL, route: 'mx' }, own)).toEqual([
      'plan.json: route: with --config this comes from postrider.json; leave it out of the plan',
    ]);
    expect(problems({ mail: MAIL }, { ...own, targets: [{ kind: 'sandbox' }] })[0]).toContain(
      'stays in the sandbox',
    );
  });
});
