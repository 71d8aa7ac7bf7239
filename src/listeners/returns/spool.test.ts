import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createVirtualClock, type VirtualClock } from '../../lib/virtual-clock.ts';
import type { ReturnTarget } from '../../pipeline/events/return-target.ts';
import { openSpool, type Spool, type SpooledMail } from './spool.ts';

const ID = (n: number) => `019a0000-0000-7000-8000-${String(n).padStart(12, '0')}`;
const LIMITS = {
  maxFiles: 3,
  maxBytes: 10_000,
  maxKeptFiles: 2,
  maxKeptBytes: 10_000,
  senderParts: 1,
  maxPerDelivery: 9,
};
const FOR = {
  operator: { kind: 'operator', name: 'postmaster' },
  unattributed: { kind: 'feedback', provider: '' },
  reports: { kind: 'reports', name: 'dmarc' },
} as const satisfies Record<string, ReturnTarget>;
let folder: string;
let clock: VirtualClock;

beforeEach(() => {
  clock = createVirtualClock();
  folder = mkdtempSync(join(tmpdir(), 'postrider-spool-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const mail = (more: Partial<SpooledMail> = {}): SpooledMail => ({
  targets: [{ kind: 'delivery', deliveryId: 7 }],
  from: null,
  ip: '192.0.2.1',
  receivedAt: 1000,
  bytes: new Uint8Array([0, 10, 13, 255, 10]),
  ...more,
});

const refusal = (spool: Spool, kept: keyof typeof FOR, ip = '192.0.2.9') =>
  spool.refusal({ ip, targets: [FOR[kept]] });

describe('the spool', () => {
  it('gives back, octet for octet and in order, what was put, also after a restart', async () => {
    const spool = await openSpool(folder, clock, LIMITS);
    await spool.put(ID(2), mail());
    await spool.put(ID(1), mail({ from: 'a@example.net' }));
    const again = await openSpool(folder, clock, LIMITS);
    expect(again.waiting()).toEqual([ID(1), ID(2)]);
    expect(await again.read(ID(2))).toEqual(mail());
    expect((await again.read(ID(1)))?.from).toBe('a@example.net');
    await again.remove(ID(1));
    expect((await openSpool(folder, clock, LIMITS)).waiting()).toEqual([ID(2)]);
  });

  it('forgets what was half written, and says what is damaged', async () => {
    writeFileSync(join(folder, `.${ID(1)}.new`), 'half');
    for (const [n, text] of ['', 'no line', '{"targets":1}\nx', '{}\nx', '[\nx'].entries()) {
      writeFileSync(join(folder, `${ID(n + 2)}.eml`), text);
    }
    writeFileSync(join(folder, 'notes.txt'), 'not ours');
    const spool = await openSpool(folder, clock, LIMITS);
    expect(readdirSync(folder)).not.toContain(`.${ID(1)}.new`);
    expect(spool.waiting()).toHaveLength(5);
    for (const id of spool.waiting()) expect(await spool.read(id)).toBeNull();
    expect(readdirSync(folder)).toContain('notes.txt');
  });

  it('has room for so many files and octets, and counts what is kept apart', async () => {
    const spool = await openSpool(folder, clock, LIMITS);
    for (let n = 1; n <= 3; n += 1) {
      expect(spool.hasRoom()).toBe(true);
      await spool.put(ID(n), mail());
    }
    expect(spool.hasRoom()).toBe(false);
    await spool.keep(ID(1), 'operator', 'because');
    await spool.keep(ID(2), 'operator', 'because');
    expect(readFileSync(join(folder, 'operator', `${ID(1)}.txt`), 'utf8')).toBe('because\n');
    expect([spool.hasRoom(), refusal(spool, 'operator')]).toEqual([true, 'all']);
    await expect(spool.keep(ID(3), 'operator', 'no room')).rejects.toThrow('no room');
    expect(spool.waiting()).toEqual([ID(3)]);
    await spool.remove(ID(3));
    await spool.put(ID(4), mail({ bytes: new Uint8Array(10_000) }));
    expect(spool.hasRoom()).toBe(false);
    await spool.remove(ID(4));
    expect(refusal(await openSpool(folder, clock, LIMITS), 'operator')).toBe('all');
  });

  it('keeps room of its own for each folder, and counts a full one again when people have taken files out', async () => {
    const spool = await openSpool(folder, clock, LIMITS);
    for (const n of [1, 2]) {
      await spool.put(ID(n), mail());
      await spool.keep(ID(n), 'operator', 'junk for postmaster');
    }
    expect([refusal(spool, 'operator'), refusal(spool, 'unattributed'), spool.hasRoom()]).toEqual([
      'all',
      null,
      true,
    ]);
    rmSync(join(folder, 'operator', `${ID(1)}.eml`));
    rmSync(join(folder, 'operator', `${ID(1)}.txt`));
    expect(refusal(spool, 'operator')).toBe('all');
    await clock.advance(60_000);
    expect(refusal(spool, 'operator')).toBe('all');
    await expect.poll(() => refusal(spool, 'operator')).toBeNull();
    await spool.put(ID(3), mail());
    await spool.keep(ID(3), 'operator', 'fits again');
    expect(refusal(spool, 'operator')).toBe('all');
  });

  it('takes nothing that it could not write, and leaves nothing of it', async () => {
    const spool = await openSpool(folder, clock, LIMITS);
    mkdirSync(join(folder, `.${ID(1)}.new`));
    await expect(spool.put(ID(1), mail())).rejects.toThrow();
    expect(spool.waiting()).toEqual([]);
    expect(readdirSync(folder).filter((name) => name.endsWith('.eml'))).toEqual([]);
  });

  it('counts what was taken out of one folder while another is being counted', async () => {
    const spool = await openSpool(folder, clock, { ...LIMITS, maxFiles: 9 });
    const folders = ['reports', 'operator'] as const;
    for (let n = 1; n <= 4; n++) {
      await spool.put(ID(n), mail({ targets: [FOR[folders[n % 2] ?? 'reports']] }));
      await spool.keep(ID(n), folders[n % 2] ?? 'reports', 'a test');
    }
    await spool.put(ID(5), mail({ targets: [FOR.reports] }));
    for (const name of folders) rmSync(join(folder, name), { recursive: true });
    for (const name of folders) mkdirSync(join(folder, name));
    await clock.advance(120_000);
    refusal(spool, 'operator');
    await spool.keep(ID(5), 'reports', 'a test');
    expect(readdirSync(join(folder, 'reports'))).not.toEqual([]);
  });

  it('refuses the sender alone that has its share, of what waits and of what is kept', async () => {
    const limits = {
      ...LIMITS,
      maxFiles: 40,
      maxKeptFiles: 20,
      senderParts: 10,
      maxBytes: 1e6,
      maxKeptBytes: 1e6,
    };
    const spool = await openSpool(folder, clock, limits);
    const junk = { ip: '2001:db8:1:1::7', targets: [FOR.operator] };
    const same = '2001:db8:1:2::8';
    await spool.put(ID(1), mail(junk));
    expect(refusal(spool, 'operator', same)).toBeNull();
    await spool.put(ID(2), mail(junk));
    // What waits counts for the folder too: it may all end up there.
    expect([refusal(spool, 'operator', same), refusal(spool, 'operator')]).toEqual(['sender', null]);
    for (const n of [1, 2]) await spool.keep(ID(n), 'operator', 'junk');
    for (const now of [spool, await openSpool(folder, clock, limits)]) {
      expect([refusal(now, 'operator', same), refusal(now, 'operator')]).toEqual(['sender', null]);
      expect(refusal(now, 'reports', same)).toBeNull();
    }
    rmSync(join(folder, 'operator', `${ID(1)}.eml`));
    await clock.advance(60_000);
    await expect.poll(() => refusal(spool, 'operator', same)).toBeNull();

    const report = { ip: '192.0.2.1', targets: [{ kind: 'delivery', deliveryId: 8 }] } as const;
    for (const n of [3, 4, 5, 6]) await spool.put(ID(n), mail({ ip: report.ip }));
    expect(spool.refusal(report)).toBe('sender');
    expect(spool.refusal({ ...report, ip: '192.0.2.2' })).toBeNull();
    await spool.remove(ID(3));
    expect(spool.refusal(report)).toBeNull();
  });

  it('takes few reports about one delivery, and none while one waits for it', async () => {
    const limits = { ...LIMITS, maxFiles: 10, maxPerDelivery: 2 };
    const spool = await openSpool(folder, clock, limits);
    const about = (deliveryId: number) =>
      spool.refusal({ ip: '192.0.2.2', targets: [{ kind: 'delivery', deliveryId }] });
    await spool.put(ID(1), mail());
    expect(about(7)).toBeNull();
    await spool.put(ID(2), mail());
    expect([about(7), about(8)]).toEqual(['delivery', null]);
    await spool.remove(ID(2));
    spool.postpone(ID(1), mail().targets);
    expect([about(7), about(8)]).toEqual(['delivery', null]);
    await spool.put(ID(3), mail());
    expect([spool.isBehind(ID(1)), spool.isBehind(ID(3))]).toEqual([false, true]);
    await spool.remove(ID(1));
    expect([spool.isBehind(ID(3)), about(7)]).toEqual([false, null]);
  });
});
