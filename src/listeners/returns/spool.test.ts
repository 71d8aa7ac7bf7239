import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createVirtualClock, type VirtualClock } from '../../../test/fakes/virtual-clock.ts';
import { openSpool, type SpooledMail } from './spool.ts';

const ID = (n: number) => `019a0000-0000-7000-8000-${String(n).padStart(12, '0')}`;
const LIMITS = { maxFiles: 3, maxBytes: 10_000, maxKeptFiles: 2, maxKeptBytes: 10_000 };
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
      expect(spool.hasRoom(null)).toBe(true);
      await spool.put(ID(n), mail());
    }
    expect(spool.hasRoom(null)).toBe(false);
    await spool.keep(ID(1), 'quarantine', 'because');
    await spool.keep(ID(2), 'quarantine', 'because');
    expect(readFileSync(join(folder, 'quarantine', `${ID(1)}.txt`), 'utf8')).toBe('because\n');
    expect([spool.hasRoom(null), spool.hasRoom('quarantine')]).toEqual([true, false]);
    await expect(spool.keep(ID(3), 'quarantine', 'no room')).rejects.toThrow('no room');
    expect(spool.waiting()).toEqual([ID(3)]);
    await spool.remove(ID(3));
    await spool.put(ID(4), mail({ bytes: new Uint8Array(10_000) }));
    expect(spool.hasRoom(null)).toBe(false);
    expect((await openSpool(folder, clock, LIMITS)).hasRoom('quarantine')).toBe(false);
  });

  it('keeps room of its own for each folder, and counts a full one again when people have taken files out', async () => {
    const spool = await openSpool(folder, clock, LIMITS);
    for (const n of [1, 2]) {
      await spool.put(ID(n), mail());
      await spool.keep(ID(n), 'operator', 'junk for postmaster');
    }
    expect([spool.hasRoom('operator'), spool.hasRoom('unattributed'), spool.hasRoom(null)]).toEqual([
      false,
      true,
      true,
    ]);
    rmSync(join(folder, 'operator', `${ID(1)}.eml`));
    rmSync(join(folder, 'operator', `${ID(1)}.txt`));
    expect(spool.hasRoom('operator')).toBe(false);
    await clock.advance(60_000);
    expect(spool.hasRoom('operator')).toBe(false);
    await expect.poll(() => spool.hasRoom('operator')).toBe(true);
    await spool.put(ID(3), mail());
    await spool.keep(ID(3), 'operator', 'fits again');
    expect(spool.hasRoom('operator')).toBe(false);
  });

  it('takes nothing that it could not write, and leaves nothing of it', async () => {
    const spool = await openSpool(folder, clock, LIMITS);
    mkdirSync(join(folder, `.${ID(1)}.new`));
    await expect(spool.put(ID(1), mail())).rejects.toThrow();
    expect(spool.waiting()).toEqual([]);
    expect(readdirSync(folder).filter((name) => name.endsWith('.eml'))).toEqual([]);
  });
});
