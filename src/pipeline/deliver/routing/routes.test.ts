import { describe, expect, it } from 'vitest';
import { routeKeyParts } from '../../../model/route-key.ts';
import { stablePlace } from './route-rules.ts';
import { createRoutes, type EgressQuestion, type RoutesConfig } from './routes.ts';

const RELAY = { kind: 'relay', host: 'a.example', port: 25, implicitTls: false, auth: null } as const;
const OTHER = { ...RELAY, host: 'b.example', port: 587 };
const ANY = { senderDomain: null, recipientDomain: null, priority: null, tag: null };
const ask = (more: Partial<EgressQuestion> = {}): EgressQuestion => ({
  senderDomain: 'shop.example',
  recipientDomain: 'corp.example',
  lane: 'normal',
  sandbox: null,
  ...more,
});
const routes = (more: Partial<RoutesConfig> = {}) =>
  createRoutes({ rules: [], targets: [{ kind: 'mx' }], sources: [], ...more });

/** The way in one word. */
function named({ egressOf }: ReturnType<typeof routes>, question: EgressQuestion): string {
  const egress = egressOf(question);
  return egress.kind === 'sandbox'
    ? 'sandbox'
    : `${egress.source.id}>${egress.relays}${egress.direct ? '+mx' : ''}`;
}

describe('the way of a recipient', () => {
  it('follows the first rule that fits, else the key route', () => {
    const all = routes({
      rules: [
        { ...ANY, senderDomain: ['shop.example'], priority: ['bulk'], targets: [RELAY, OTHER] },
        { ...ANY, recipientDomain: ['*.corp.example'], targets: [OTHER] },
        { ...ANY, recipientDomain: ['corp.example'], targets: [{ kind: 'sandbox' }] },
      ],
    });
    expect(named(all, ask({ lane: 'bulk' }))).toBe('>relay:a.example:25|relay:b.example:587');
    expect(named(all, ask({ recipientDomain: 'x.corp.example' }))).toBe('>relay:b.example:587');
    expect(named(all, ask({ recipientDomain: 'xcorp.example' }))).toBe('>+mx');
    expect(named(all, ask())).toBe('sandbox');
    expect(named(all, ask({ lane: 'bulk', sandbox: 'deliver' }))).toBe('sandbox');
  });

  it('is the very same object for recipients that share it', () => {
    const all = routes({ targets: [RELAY, { kind: 'mx' }] });
    expect(named(all, ask())).toBe('>relay:a.example:25+mx');
    expect(all.egressOf(ask({ recipientDomain: 'other.example' }))).toBe(all.egressOf(ask()));
  });

  it('follows tags that some rule names, as the key of its queue keeps them', () => {
    const all = routes({
      rules: [
        { ...ANY, tag: ['news', 'offers'], priority: ['bulk'], targets: [RELAY] },
        { ...ANY, tag: ['receipt'], targets: [OTHER], shown: 'smtp://(secret)@b.example:587' },
      ],
    });
    const mail = { ...ask({ lane: 'bulk' }), address: 'a@corp.example', size: 100 };
    const key = (...tags: string[]) => all.keyOf({ ...mail, tags });
    expect(all.tags).toEqual(['news', 'offers', 'receipt']);
    expect([key(), key('other')]).toEqual(['', '']);
    expect(key('x', 'news')).toBe(key('news'));
    expect(key('receipt', 'news')).toBe(key('news', 'receipt'));
    const egress = (lane: 'normal' | 'bulk', ...tags: string[]) =>
      named(all, ask({ lane, routeKey: key(...tags) }));
    expect(egress('bulk', 'news', 'receipt')).toBe('>relay:a.example:25');
    expect(egress('normal', 'news', 'receipt')).toBe('>relay:b.example:587');
    expect(egress('normal', 'news')).toBe('>+mx');
    expect(all.shown(ask({ routeKey: key('receipt') }))).toBe('routes[1] smtp://(secret)@b.example:587');
    expect(all.shown(ask({ routeKey: key('news') }))).toBe('route mx');
  });

  it('spreads one sender’s mail to one domain over its pool, each recipient to the same source', () => {
    const source = (id: string) => ({
      id,
      address: `192.0.2.${id}`,
      ipv6: null,
      ehlo: null,
      pool: 'default',
    });
    const before = routes({ sources: [source('1'), source('2'), source('3')] });
    const mail = { ...ask(), tags: [], size: 100 };
    const from = (all: typeof before, address: string, size = 100) => {
      const egress = all.egressOf(ask({ routeKey: before.keyOf({ ...mail, address, size }) }));
      return egress.kind === 'smtp' ? egress.source.id : null;
    };
    const people = Array.from({ length: 300 }, (_, i) => `r${i}@corp.example`);
    const counts = new Map<string | null, number>();
    for (const address of people) {
      const id = from(before, address);
      expect(from(before, address)).toBe(id);
      counts.set(id, (counts.get(id) ?? 0) + 1);
    }
    for (const id of ['1', '2', '3']) expect(counts.get(id)).toBeGreaterThan(60);
    // Recipients of a large message may share a transaction, so they have one source.
    expect(new Set(people.map((address) => from(before, address, 300 * 1024))).size).toBe(1);
    // What waits when a source is taken away, or added, has a way all the same.
    const fewer = routes({ sources: [source('1')] });
    const more = routes({ sources: ['1', '2', '3', '4'].map(source) });
    for (const address of people) {
      expect(from(fewer, address)).toBe('1');
      expect(['1', '2', '3', '4']).toContain(from(more, address));
    }
    expect(
      routeKeyParts(routes({ sources: [source('1')] }).keyOf({ ...mail, address: 'a@b.example' })),
    ).toEqual({
      tags: [],
      place: 0,
    });
  });

  it('leaves from one source of its pool, always the same for one queue', () => {
    const source = (id: string, pool: string) => ({
      id,
      address: `192.0.2.${id}`,
      ipv6: null,
      ehlo: `m${id}.example`,
      pool,
    });
    const { egressOf } = routes({
      sources: [source('1', 'default'), source('2', 'default'), source('3', 'bulk')],
      rules: [{ ...ANY, priority: ['bulk'], targets: [{ kind: 'mx', pool: 'bulk' }] }],
    });
    const from = (recipientDomain: string, lane: EgressQuestion['lane'] = 'normal') => {
      const egress = egressOf(ask({ recipientDomain, lane }));
      return egress.kind === 'smtp' ? egress.source : null;
    };
    const used = new Set(Array.from({ length: 50 }, (_, i) => from(`d${i}.example`)?.id));
    expect(used).toEqual(new Set(['1', '2']));
    for (const domain of ['a.example', 'b.example']) expect(from(domain)).toBe(from(domain));
    expect(from('a.example', 'bulk')).toEqual({
      id: '3',
      address: '192.0.2.3',
      ipv6: null,
      heloName: 'm3.example',
    });
  });

  it('spreads evenly over places', () => {
    const counts = [0, 0, 0];
    for (let i = 0; i < 3000; i++) {
      const place = stablePlace(`shop.example d${i}.example`, 3);
      counts[place] = (counts[place] ?? 0) + 1;
    }
    for (const count of counts) expect(Math.abs(count - 1000)).toBeLessThan(150);
    expect(stablePlace('shop.example corp.example', 7)).toBe(stablePlace('shop.example corp.example', 7));
  });

  it('needs a target', () => {
    expect(() => routes({ targets: [] })).toThrow('at least one route');
  });
});
