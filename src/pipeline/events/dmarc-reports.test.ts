/** Which sender domain gets what of a DMARC report, over a real store. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { attached, type DmarcRow, dmarcDocument } from '../../../test/scenarios/returns-kit.ts';
import { createVirtualClock } from '../../lib/virtual-clock.ts';
import { readMime } from '../../mail/mime-tree.ts';
import { T0 } from '../../store/conformance/fixtures.ts';
import { openTestStore } from '../../store/sqlite/test-support.ts';
import type { Store } from '../../store/store.ts';
import { takeDmarcReport } from './dmarc-reports.ts';

const clock = createVirtualClock(T0);
let store: Store;

beforeEach(async () => {
  store = await openTestStore(clock);
  for (const name of ['example.com', 'shop.example.com'])
    await store.addDomain({
      ...{ name, status: 'Verified', verifiedBy: 'dns', verifyToken: name, settings: {}, keys: [], now: T0 },
    });
});
afterEach(() => store.close());

interface About {
  domain?: string;
  id?: string;
  signedBy?: string;
  signer?: () => Promise<string>;
}

function take(
  rows: readonly DmarcRow[],
  { signedBy = 'receiver.example', signer = async () => signedBy, ...about }: About = {},
): Promise<string | null> {
  const mime = readMime(Buffer.from(attached('text/xml', Buffer.from(dmarcDocument(rows, about)))));
  return takeDmarcReport({ store, clock }, { mime, turn: () => undefined, signedBy: signer });
}

async function counts(domain: string) {
  const reports = await store.listDmarcReports({ domain, since: 0, limit: 100 });
  return reports.flatMap((report) => report.counts);
}

describe('a DMARC report', () => {
  it('is divided among the sender domains that its records are about', async () => {
    const rows: DmarcRow[] = [
      { ip: '192.0.2.1', n: 1 },
      { ip: '192.0.2.2', n: 2, from: 'shop.example.com' },
      { ip: '192.0.2.3', n: 3, from: 'news.example.com' },
      { ip: '192.0.2.4', n: 4, from: 'a.shop.example.com' },
      { ip: '192.0.2.5', n: 5, from: 'elsewhere.example' },
    ];
    expect(await take(rows)).toBeNull();
    expect((await counts('example.com')).map(({ source }) => source)).toEqual(['192.0.2.3', '192.0.2.1']);
    expect((await counts('shop.example.com')).map(({ source }) => source)).toEqual([
      '192.0.2.4',
      '192.0.2.2',
    ]);
  });

  it('adds up what has the same result, and says what was found where something failed', async () => {
    const found = `<auth_results><dkim><domain>example.com</domain><selector>k1</selector><result>fail</result></dkim>
      <spf><domain>bounces.example.com</domain><result>pass</result></spf></auth_results>`;
    await take([
      { ip: '192.0.2.1', n: 1 },
      { ip: '192.0.2.1', n: 2, more: found },
      { ip: '192.0.2.1', n: 4, dkim: 'fail', more: found },
    ]);
    const row = { source: '192.0.2.1', from: 'example.com', spf: true, disposition: 'none' };
    expect(await counts('example.com')).toEqual([
      {
        ...row,
        messages: 4,
        dkim: false,
        found: 'dkim=fail d=example.com s=k1; spf=pass d=bounces.example.com',
      },
      { ...row, messages: 3, dkim: true, found: '' },
    ]);
  });

  it('keeps the largest sources, and the rest as one for each result', async () => {
    const rows = Array.from({ length: 300 }, (_, i) => ({ ip: `198.51.${i >> 8}.${i & 255}`, n: 1000 - i }));
    await take(rows);
    const stored = await counts('example.com');
    expect(stored).toHaveLength(201);
    expect(stored.at(-1)).toMatchObject({ source: '', from: '', messages: 75_050 });
    expect(stored.reduce((sum, { messages }) => sum + messages, 0)).toBe(255_150);
  });

  it('is not for a domain that nobody proved to own, which anybody here may add below another', async () => {
    await store.addDomain({
      ...{ name: 'news.example.com', status: 'Pending', verifiedBy: null, verifyToken: 'p' },
      ...{ settings: {}, keys: [], now: T0 },
    });
    expect(await take([{ ip: '192.0.2.3', from: 'news.example.com' }])).toBeNull();
    expect(await counts('news.example.com')).toEqual([]);
    expect(await counts('example.com')).toMatchObject([{ source: '192.0.2.3' }]);
  });

  it('about a domain that is removed meanwhile is no matter of a limit', async () => {
    const why = await take([{ ip: '192.0.2.1' }], {
      signer: async () => {
        await store.removeDomain({ name: 'example.com' });
        return '';
      },
    });
    expect(why).toMatch(/: no record is about a verified sender domain here$/);
  });

  it('that comes again changes nothing', async () => {
    expect(await take([{ ip: '192.0.2.1' }])).toBeNull();
    expect(await take([{ ip: '192.0.2.1' }])).toBeNull();
    expect(await counts('example.com')).toHaveLength(1);
  });

  it('is kept for the operator where it is about nobody here, or cannot be read', async () => {
    expect(await take([{ ip: '192.0.2.1' }], { domain: 'other.example' })).toBe(
      'a DMARC report about other.example: no record is about a verified sender domain here',
    );
    const mime = readMime(Buffer.from('From: a@b.example\r\n\r\nHello\r\n'));
    const why = await takeDmarcReport(
      { store, clock },
      { mime, turn: () => undefined, signedBy: async () => '' },
    );
    expect(why).toBe('a DMARC report that cannot be read: no attachment is a DMARC report');
  });

  it('is one of at most a hundred a day by its signer; those of others still come', async () => {
    const row = { ip: '192.0.2.1' };
    for (let n = 0; n < 100; n += 1) expect(await take([row], { id: `f-${n}`, signedBy: '' })).toBeNull();
    expect(await take([row], { id: 'f-100', signedBy: '' })).toBe(
      'a DMARC report about example.com (without a valid signature): as many as one sender may send in a day have come',
    );
    expect(await take([row], { id: 'f-100' })).toBeNull();
  });
});
