/**
 * The spool of returned mail: a message is in a file, and the file is synced, before the peer is told so. The file is
 * `<id>.eml`, whose first line is the envelope as JSON; what a person must see is moved to another folder with the
 * reason in `<id>.txt`. Files and octets are limited for each folder, and for each sender address a share of it, so
 * that a flood only affects its sender; few reports about one delivery may wait, and no further one while one waits for
 * the delivery itself. What no longer fits is refused, never dropped. A full folder is counted again, because people
 * remove files. An interrupted write leaves a hidden file, removed at the next start.
 */
import { mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../lib/clock.ts';
import { syncPath } from '../../lib/whole-file.ts';
import { isToken, type ReturnTarget } from '../../pipeline/events/return-target.ts';
import { networkKey } from '../../policy/access/failed-logins.ts';

export interface SpooledMail {
  targets: readonly ReturnTarget[];
  /** null: the null sender. */
  from: string | null;
  ip: string;
  receivedAt: number;
  bytes: Uint8Array;
}

export type KeptFolder = 'operator' | 'reports' | 'unattributed' | 'quarantine';

/** The sender of a message and its targets. */
export type Arrival = Pick<SpooledMail, 'ip' | 'targets'>;

/**
 * Why there is no space: it is used up for `all`, a `sender` address has used its share, or a `delivery` has its
 * maximum of reports.
 */
export type NoRoom = 'all' | 'sender' | 'delivery';

export interface Spool {
  /** Whether there is space for anything. */
  hasRoom(): boolean;
  /** Why this message is not accepted now; null = it is. */
  refusal(arrival: Arrival): NoRoom | null;
  /** Writes and syncs the file and the folder. Rejects if the disk fails. */
  put(id: string, mail: SpooledMail): Promise<void>;
  /** Ids that wait, oldest first: all, or those to addresses for reports, or the others. */
  waiting(ofReports?: boolean): readonly string[];
  /** The message waits until its targets are stored; until it is removed no more mail about them is accepted. */
  postpone(id: string, about: readonly ReturnTarget[]): void;
  /** Whether another message is postponed because of one of its targets. */
  isBehind(id: string): boolean;
  /** The sender of mail to an address for reports; null: it is other mail. */
  reporter(id: string): string | null;
  /** The stored message; null if the file is damaged. Rejects if it cannot be read. */
  read(id: string): Promise<SpooledMail | null>;
  /** It was processed. */
  remove(id: string): Promise<void>;
  /** Moves it to another folder, for a person. Rejects if there is no space: then it stays. */
  keep(id: string, folder: KeptFolder, why: string): Promise<void>;
}

const SPOOL_LIMITS = {
  maxFiles: 5_000,
  maxBytes: 256 * 1024 * 1024,
  /** Per folder of stored mail. */
  maxKeptFiles: 1_250,
  maxKeptBytes: 64 * 1024 * 1024,
  /** The share of each limit for one sender address (IPv6: its /48): one divided by this. */
  senderParts: 10,
  /** Unread messages about one delivery. */
  maxPerDelivery: 4,
};

export type SpoolLimits = typeof SPOOL_LIMITS;

/** A full folder is counted again after this time. */
const RECOUNT_MS = 60_000;

const FOLDERS: readonly KeptFolder[] = ['operator', 'reports', 'unattributed', 'quarantine'];
const NAME = /^[0-9a-f-]{36}\.eml$/;
const LF = 10;
/** More than the first line of a file can have: ten targets and a sender. */
const MAX_ENVELOPE_BYTES = 8 * 1024;

/** How many files there are of something, and their octets together. */
interface Load {
  files: number;
  bytes: number;
}

interface Entry {
  size: number;
  /** The sender as the limits count it. */
  sender: string;
  isReport: boolean;
  /** Deliveries and messages it is about. */
  subjects: readonly string[];
  /** Those because of which it is postponed. */
  waitsFor: readonly string[];
}

interface KeptLoad extends Load {
  senders: Map<string, Load>;
  countedAtMs: number;
}

/** Opens the spool below `path`, with the files that are there. Rejects if the folder cannot be used. */
export async function openSpool(
  path: string,
  clock: Pick<Clock, 'monotonicMs'>,
  limits: SpoolLimits = SPOOL_LIMITS,
): Promise<Spool> {
  await mkdir(path, { recursive: true, mode: 0o700 });
  const entries = new Map<string, Entry>();
  const total: Load = { files: 0, bytes: 0 };
  const senders = new Map<string, Load>();
  const subjects = new Map<string, Load>();
  /** Delivery or message → the message that is postponed because of it. */
  const waitedFor = new Map<string, string>();
  const kept = {} as Record<KeptFolder, KeptLoad>;
  const counting = new Map<KeptFolder, Promise<void>>();
  for (const name of (await readdir(path)).sort()) {
    if (name.startsWith('.')) await rm(join(path, name), { force: true });
    else if (NAME.test(name)) {
      const file = join(path, name);
      const entry = entryOf((await readEnvelope(file)) ?? NOBODY, (await stat(file)).size);
      entries.set(name.slice(0, -4), entry);
      load(entry);
    }
  }
  for (const folder of FOLDERS) {
    await mkdir(join(path, folder), { recursive: true, mode: 0o700 });
    await count(folder);
  }

  return {
    hasRoom,
    refusal({ ip, targets }) {
      if (!hasRoom()) return 'all';
      const sender = networkKey(ip);
      const sent = senders.get(sender) ?? NOTHING;
      if (isOver(sent, limits.maxFiles / limits.senderParts, limits.maxBytes / limits.senderParts)) {
        return 'sender';
      }
      for (const target of targets) {
        const subject = subjectOf(target);
        if (subject === null) continue;
        if (waitedFor.has(subject) || (subjects.get(subject)?.files ?? 0) >= limits.maxPerDelivery) {
          return 'delivery';
        }
      }
      for (const folder of targets.map(keptFolderOf)) {
        if (folder === null) continue;
        const full = isFull(folder) ? 'all' : hasShare(folder, sender, sent) ? null : 'sender';
        if (full === null) continue;
        void countAgain(folder);
        return full;
      }
      return null;
    },
    async put(id, mail) {
      const { bytes: message, ...envelope } = mail;
      const content = Buffer.concat([Buffer.from(`${JSON.stringify(envelope)}\n`), message]);
      const temporary = join(path, `.${id}.new`);
      const entry = entryOf(mail, content.length);
      // Counted before it is written, because several may be written at once.
      load(entry);
      try {
        await writeFile(temporary, content, { mode: 0o600, flush: true });
        await rename(temporary, join(path, `${id}.eml`));
        await syncPath(path);
      } catch (cause) {
        unload(entry);
        await rm(temporary, { force: true }).catch(() => undefined);
        // Renamed, but maybe not on the disk: the peer is refused, and sends it again.
        await rm(join(path, `${id}.eml`), { force: true }).catch(() => undefined);
        throw cause;
      }
      entries.set(id, entry);
    },
    waiting: (ofReports) =>
      [...entries.keys()].filter((id) => ofReports === undefined || entries.get(id)?.isReport === ofReports),
    postpone(id, about) {
      const entry = entries.get(id);
      if (entry === undefined) return;
      release(id, entry);
      entry.waitsFor = about.map(subjectOf).filter((subject) => subject !== null);
      for (const subject of entry.waitsFor) waitedFor.set(subject, id);
    },
    isBehind(id) {
      const entry = entries.get(id);
      return entry?.subjects.some((subject) => (waitedFor.get(subject) ?? id) !== id) ?? false;
    },
    reporter(id) {
      const entry = entries.get(id);
      return entry?.isReport === true ? entry.sender : null;
    },
    read: async (id) => parseSpooled(await readFile(join(path, `${id}.eml`))),
    async remove(id) {
      await rm(join(path, `${id}.eml`), { force: true });
      forget(id);
    },
    async keep(id, folder, why) {
      if (isFull(folder)) await countAgain(folder);
      if (isFull(folder)) {
        throw new Error(`there is no room for more kept mail in ${path}`);
      }
      await writeFile(join(path, folder, `${id}.txt`), `${why}\n`, { mode: 0o600 });
      await rename(join(path, `${id}.eml`), join(path, folder, `${id}.eml`));
      const entry = entries.get(id);
      if (entry !== undefined) {
        addTo(kept[folder], entry.size);
        addFor(kept[folder].senders, entry.sender, entry.size);
      }
      forget(id);
    },
  };

  function hasRoom(): boolean {
    return !isOver(total, limits.maxFiles, limits.maxBytes);
  }

  function isFull(folder: KeptFolder): boolean {
    return isOver(kept[folder], limits.maxKeptFiles, limits.maxKeptBytes);
  }

  /** Whether the sender still has a share of the folder, given its stored and waiting mail. */
  function hasShare(folder: KeptFolder, sender: string, waiting: Load): boolean {
    const there = kept[folder].senders.get(sender) ?? NOTHING;
    return !isOver(
      { files: there.files + waiting.files, bytes: there.bytes + waiting.bytes },
      limits.maxKeptFiles / limits.senderParts,
      limits.maxKeptBytes / limits.senderParts,
    );
  }

  /** At most once a minute, because otherwise every try of a stranger would read the folder. */
  async function countAgain(folder: KeptFolder): Promise<void> {
    if (clock.monotonicMs() - kept[folder].countedAtMs < RECOUNT_MS) return;
    // A folder that cannot be read counts as full.
    const running =
      counting.get(folder) ??
      count(folder)
        .catch(() => undefined)
        .finally(() => counting.delete(folder));
    counting.set(folder, running);
    await running;
  }

  async function count(folder: KeptFolder): Promise<void> {
    const counted: KeptLoad = { files: 0, bytes: 0, senders: new Map(), countedAtMs: clock.monotonicMs() };
    for (const name of await readdir(join(path, folder))) {
      if (!NAME.test(name)) continue;
      const file = join(path, folder, name);
      // Removed meanwhile: not counted.
      const found = await stat(file).catch(() => null);
      if (found === null) continue;
      const { ip } = (await readEnvelope(file).catch(() => null)) ?? NOBODY;
      addTo(counted, found.size);
      addFor(counted.senders, networkKey(ip), found.size);
    }
    kept[folder] = counted;
  }

  function load({ size, sender, subjects: about }: Entry): void {
    addTo(total, size);
    addFor(senders, sender, size);
    for (const subject of about) addFor(subjects, subject, size);
  }

  function unload({ size, sender, subjects: about }: Entry): void {
    addTo(total, -size);
    addFor(senders, sender, -size);
    for (const subject of about) addFor(subjects, subject, -size);
  }

  function release(id: string, entry: Entry): void {
    for (const subject of entry.waitsFor) if (waitedFor.get(subject) === id) waitedFor.delete(subject);
    entry.waitsFor = [];
  }

  function forget(id: string): void {
    const entry = entries.get(id);
    if (entry === undefined) return;
    entries.delete(id);
    release(id, entry);
    unload(entry);
  }
}

const NOTHING: Load = { files: 0, bytes: 0 };
const NOBODY: Arrival = { ip: '', targets: [] };

function isOver({ files, bytes }: Load, maxFiles: number, maxBytes: number): boolean {
  return files >= maxFiles || bytes >= maxBytes;
}

/** Counts one more file, or with a negative size one less. */
function addTo(load: Load, size: number): void {
  load.files += Math.sign(size);
  load.bytes += size;
}

function addFor(loads: Map<string, Load>, key: string, size: number): void {
  const load = loads.get(key) ?? { files: 0, bytes: 0 };
  addTo(load, size);
  if (load.files <= 0) loads.delete(key);
  else loads.set(key, load);
}

function entryOf({ ip, targets }: Arrival, size: number): Entry {
  const about = new Set(targets.map(subjectOf).filter((subject) => subject !== null));
  const isReport = targets.some(({ kind }) => kind === 'reports');
  return { size, sender: networkKey(ip), isReport, subjects: [...about], waitsFor: [] };
}

/** The delivery or message of a token's address, as a key; null for other targets. */
function subjectOf(target: ReturnTarget): string | null {
  if (!isToken(target)) return null;
  return target.kind === 'message' ? `message:${target.messageSeq}` : `${target.kind}:${target.deliveryId}`;
}

/** The folder for mail to this target; null = its content is recorded, and the file is removed. */
function keptFolderOf(target: ReturnTarget): KeptFolder | null {
  if (isToken(target)) return null;
  if (target.kind === 'feedback') return 'unattributed';
  return target.kind === 'reports' ? 'reports' : 'operator';
}

/** Sender and targets of a file; null if its first line is not an envelope. */
async function readEnvelope(file: string): Promise<Arrival | null> {
  const opened = await open(file, 'r');
  try {
    const { buffer, bytesRead } = await opened.read(
      Buffer.alloc(MAX_ENVELOPE_BYTES),
      0,
      MAX_ENVELOPE_BYTES,
      0,
    );
    const read = parseSpooled(buffer.subarray(0, bytesRead));
    if (read === null || typeof read.ip !== 'string') return null;
    return { ip: read.ip, targets: read.targets.filter((target) => typeof target?.kind === 'string') };
  } finally {
    await opened.close();
  }
}

function parseSpooled(content: Buffer): SpooledMail | null {
  const lf = content.indexOf(LF);
  if (lf === -1) return null;
  try {
    const envelope = JSON.parse(content.toString('utf8', 0, lf)) as Omit<SpooledMail, 'bytes'>;
    if (!Array.isArray(envelope.targets) || typeof envelope.receivedAt !== 'number') return null;
    return { ...envelope, bytes: new Uint8Array(content.subarray(lf + 1)) };
  } catch {
    return null;
  }
}
