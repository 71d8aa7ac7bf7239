/** What is kept of refusals, and what is not: bounds by tenant and stranger, repetitions, shares of the log. */
import { describe, expect, it } from 'vitest';
import type { LogFields } from '../../lib/log.ts';
import { createSystemRandom } from '../../lib/random.ts';
import { createVirtualClock } from '../../lib/virtual-clock.ts';
import type { Caller } from '../../model/submission.ts';
import { createRefusals, REFUSAL_LIMITS, type RefusalFacts } from './refusals.ts';

function setUp() {
  const clock = createVirtualClock();
  const lines: LogFields[] = [];
  const counted: string[] = [];
  const write = (fields: LogFields) => void lines.push(fields);
  const refusals = createRefusals({
    clock,
    random: createSystemRandom(),
    log: { debug: write, info: write, warn: write, error: write },
    count: (via, name) => void counted.push(`${via} ${name}`),
  });
  return { clock, lines, counted, refusals };
}

const caller = (...domains: string[]): Caller => ({
  tokenId: `token-${domains.join('-')}`,
  name: 'shop',
  owner: 'owner',
  domains,
  scopes: new Set(['email:send']),
  sandbox: false,
  rateLimit: null,
});

const refusal = (more: Partial<RefusalFacts> = {}): RefusalFacts => ({
  caller: caller('a.example'),
  via: 'HTTP',
  action: 'POST /email',
  status: 403,
  name: 'from-domain-not-allowed',
  message: 'This token may not send from b.example',
  domain: 'b.example',
  ip: '192.0.2.1',
  ...more,
});

describe('a refusal', () => {
  it('leaves a line and a row, newest first', async () => {
    const { clock, lines, counted, refusals } = setUp();
    refusals.record(refusal());
    await clock.advance(1000);
    refusals.record(refusal({ via: 'SMTP', action: 'MAIL', status: 550, name: null, message: '5.1.7 no' }));
    expect(refusals.list().map(({ action, code, times }) => [action, code, times])).toEqual([
      ['MAIL', null, 1],
      ['POST /email', 33, 1],
    ]);
    expect(lines[0]).toEqual({
      tokenId: 'token-a.example',
      tokenName: 'shop',
      via: 'HTTP',
      action: 'POST /email',
      status: 403,
      code: 33,
      name: 'from-domain-not-allowed',
      domain: 'b.example',
      ip: '192.0.2.1',
      reason: 'This token may not send from b.example',
    });
    expect(counted).toEqual(['HTTP from-domain-not-allowed', 'SMTP null']);
  });

  it('like the one before it counts that up', async () => {
    const { clock, refusals } = setUp();
    refusals.record(refusal());
    const [{ since = 0 } = {}] = refusals.list();
    await clock.advance(5000);
    refusals.record(refusal());
    expect(refusals.list()).toMatchObject([{ times: 2, since, at: since + 5000 }]);
    refusals.record(refusal({ ip: '192.0.2.2' }));
    expect(refusals.list()).toHaveLength(2);
  });

  it('names no recipient', () => {
    const { lines, refusals } = setUp();
    refusals.record(refusal({ message: 'Every recipient is on the list; jane@b.example: it bounced' }));
    expect(refusals.list()[0]?.message).toBe('Every recipient is on the list; j***@b.example: it bounced');
    expect(JSON.stringify(lines)).not.toContain('jane');
  });

  it('keeps no long text', () => {
    const { refusals } = setUp();
    refusals.record(refusal({ message: 'x'.repeat(10_000), domain: 'y'.repeat(10_000) }));
    const [row] = refusals.list();
    expect([row?.message.length, row?.domain?.length]).toEqual([300, 253]);
  });
});

describe('rows', () => {
  it('are seen by tokens of the same domains, and those of nobody by tokens of all', () => {
    const { refusals } = setUp();
    refusals.record(refusal());
    refusals.record(refusal({ caller: caller('a.example', 'b.example') }));
    refusals.record(refusal({ caller: caller('*') }));
    refusals.record(refusal({ caller: null }));
    const seenBy = (...domains: string[]) => refusals.list(domains).map(({ tokenId }) => tokenId);
    expect(seenBy('a.example')).toEqual(['token-a.example']);
    expect(seenBy('b.example')).toEqual([]);
    expect(seenBy('a.example', 'b.example').sort()).toEqual(['token-a.example', 'token-a.example-b.example']);
    expect(refusals.list()).toHaveLength(4);
  });

  it('of one tenant or stranger push out nobody else’s', () => {
    const { refusals } = setUp();
    refusals.record(refusal({ caller: caller('quiet.example') }));
    refusals.record(refusal({ caller: null, ip: '192.0.2.7' }));
    for (let i = 0; i < 1_000; i += 1) {
      refusals.record(refusal({ message: `${i}` }));
      refusals.record(refusal({ caller: null, ip: '2001:db8::1', message: `${i}` }));
    }
    const rows = refusals.list();
    expect(rows).toHaveLength(2 + REFUSAL_LIMITS.rowsEach + REFUSAL_LIMITS.rowsOfStranger);
    expect(refusals.list(['quiet.example'])).toHaveLength(1);
    expect(refusals.list(['a.example'])[0]?.message).toBe('999');
    expect(rows.some(({ ip }) => ip === '192.0.2.7')).toBe(true);
  });

  it('are bounded over all tenants and addresses', () => {
    const { refusals } = setUp();
    for (let i = 0; i < 6_000; i += 1) {
      refusals.record(refusal({ caller: caller(`d${i}.example`) }));
      refusals.record(refusal({ caller: null, ip: `10.${i >> 16}.${(i >> 8) & 255}.${i & 255}` }));
    }
    const rows = refusals.list();
    expect(rows).toHaveLength(REFUSAL_LIMITS.maxRows + REFUSAL_LIMITS.maxStrangerRows);
    expect(rows.some(({ tokenId }) => tokenId === 'token-d5999.example')).toBe(true);
  });
});

describe('a flood', () => {
  it('writes its share of lines and no more, says how many it left out, and takes nobody’s', async () => {
    const { clock, lines, counted, refusals } = setUp();
    for (let i = 0; i < 1000; i += 1) refusals.record(refusal({ message: `${i}` }));
    expect(lines).toHaveLength(REFUSAL_LIMITS.logBurst);
    refusals.record(refusal({ caller: caller('quiet.example') }));
    refusals.record(refusal({ caller: null }));
    expect(lines).toHaveLength(REFUSAL_LIMITS.logBurst + 2);
    await clock.advance(1000);
    refusals.record(refusal());
    refusals.record(refusal());
    expect(lines).toHaveLength(REFUSAL_LIMITS.logBurst + 3);
    expect(lines.at(-1)).toMatchObject({ unlogged: 1000 - REFUSAL_LIMITS.logBurst });
    expect(counted).toHaveLength(1004);
  });
});
