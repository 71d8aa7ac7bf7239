/**
 * The names of the files in a data folder, the note in which a running server says where it listens, and how that server
 * proves to a command that it is the one. The names are in the documentation and in the folders of all servers.
 */
import { createHmac } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { dirname, join } from 'node:path';

export const DATA_FILES = {
  config: 'postrider.json',
  database: 'postrider.db',
  nodeId: 'node-id',
  place: 'database-server',
  secretKey: 'secret-key',
  adminToken: 'admin-token',
  server: 'server.json',
  shaping: 'shaping.json',
  replyRules: 'reply-rules.json',
} as const;

/**
 * Makes a folder that only its owner can use, and those above it. `recursive` of Node never ends where nothing can be made,
 * as in /proc.
 */
export function makeFolder(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'EEXIST' && statSync(path).isDirectory()) return;
    if (code !== 'ENOENT' || existsSync(dirname(path))) throw cause;
    makeFolder(dirname(path));
    makeFolder(path);
  }
}

/** Header fields of `/healthz`: the question of a command, and the proof in the answer. */
export const CHALLENGE_HEADER = 'x-postrider-challenge';
export const PROOF_HEADER = 'x-postrider-proof';

/**
 * What only a server that has the folder's token can answer to `challenge`. It is bound to the address in the note, so that
 * no other program there can ask the server somewhere else for it.
 */
export function serverProof(token: string, url: string, challenge: string): string {
  return createHmac('sha256', token).update(`server proof\n${url}\n${challenge}`).digest('base64url');
}

/** Files of a restore have this end of their hidden names until it is finished; those of its database have more behind it. */
export const RESTORING = '.restoring';

export function isBeingRestored(name: string): boolean {
  return name.startsWith('.') && name.includes(RESTORING);
}

/**
 * Where a server listens, and its process. `began` tells it from others that have the number later, or outside of its
 * container; absent where the system does not say it.
 */
export interface ServerNote {
  url: string;
  pid: number;
  began?: string;
}

export function noteOfThisProcess(url: string): ServerNote {
  const began = beganAt(process.pid);
  return { url, pid: process.pid, ...(began === null ? {} : { began }) };
}

/** The note of the folder's server, which may have been killed since; null: there is none. */
export function readServerNote(folder: string): ServerNote | null {
  try {
    const note = JSON.parse(readFileSync(join(folder, DATA_FILES.server), 'utf8'));
    return typeof note.url === 'string' && typeof note.pid === 'number' ? note : null;
  } catch {
    return null;
  }
}

/** The process of the folder's server; null: there is no note of one, or it does not run, or not where this process can see it. */
export function pidOfServer(folder: string): number | null {
  const note = readServerNote(folder);
  if (note === null || !isRunning(note.pid)) return null;
  return note.began === undefined || note.began === beganAt(note.pid) ? note.pid : null;
}

/** Why this process cannot reach a server of this machine that runs; null: nothing is known that prevents it. */
export function whyUnreachable(pid: number): string | null {
  const [here, there] = [networkOf('self'), networkOf(pid)];
  if (here !== null && there !== null && here !== there)
    return `it is in another network namespace than this command (give the command there, for example behind nsenter --net --target ${pid})`;
  return hasLoopback() ? null : 'loopback is down here (bring it up with ip link set lo up)';
}

/** Taken as there where the system does not list interfaces to this process. */
function hasLoopback(): boolean {
  try {
    return Object.values(networkInterfaces()).some((all) => all?.some(({ internal }) => internal));
  } catch {
    return true;
  }
}

/** The network namespace of a process; null where the system has none, or does not tell it. */
function networkOf(pid: number | 'self'): string | null {
  try {
    return readlinkSync(`/proc/${pid}/ns/net`);
  } catch {
    return null;
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (cause) {
    return (cause as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** In ticks since the machine started, which containers share; null where the system has no such list of processes. */
function beganAt(pid: number): string | null {
  try {
    // The name of the program, in brackets, may contain anything.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
    // It has ended, and whoever started it has not looked.
    return fields[0] === 'Z' ? null : (fields[19] ?? null);
  } catch {
    return null;
  }
}
