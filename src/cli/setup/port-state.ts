/**
 * Whether a listener can use its address, tried by listening there for a moment, and which program uses it otherwise.
 * Linux shows that program only to its owner and to root; elsewhere it stays unknown.
 */
import { readdir, readFile, readlink } from 'node:fs/promises';
import { createServer, SocketAddress } from 'node:net';
import { basename } from 'node:path';
import { type ListenAddress, meet } from '../../config/forms.ts';
import { shortened } from '../terminal.ts';

export type PortState =
  | { kind: 'free' }
  /** `holder`: name and process id; null = not known. */
  | { kind: 'taken'; holder: { name: string; pid: number } | null }
  /** This user may not use a port below 1024. */
  | { kind: 'denied' }
  /** Not an address of this machine. */
  | { kind: 'elsewhere' };

/** Nothing listens afterwards. Throws errors that no answer of a user can fix. */
export async function portState(at: ListenAddress): Promise<PortState> {
  const refusal = await tryListening(at);
  if (refusal === null) return { kind: 'free' };
  const { code = refusal.message, address = at.host } = refusal;
  if (code === 'EADDRINUSE')
    return { kind: 'taken', holder: await holderOf({ host: address, port: at.port }) };
  if (code === 'EACCES') return { kind: 'denied' };
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') return { kind: 'elsewhere' };
  throw new Error(`${at.host}:${at.port}: ${code}`);
}

/** `address` of a refusal is the one that a host name leads to. */
function tryListening({
  host,
  port,
}: ListenAddress): Promise<(NodeJS.ErrnoException & { address?: string }) | null> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', resolve);
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(null)));
  });
}

const LISTENING = '0A';

/** The process whose listener is in the way, by the socket's number in /proc. */
async function holderOf(at: ListenAddress): Promise<{ name: string; pid: number } | null> {
  const inodes = new Set<string>();
  for (const file of ['/proc/net/tcp', '/proc/net/tcp6']) {
    const text = await readFile(file, 'utf8').catch(() => '');
    for (const line of text.split('\n').slice(1)) {
      const [, local = '', , state, , , , , , inode = ''] = line.trim().split(/\s+/);
      if (state === LISTENING && meet(listenerOf(local), at)) inodes.add(inode);
    }
  }
  if (inodes.size === 0) return null;
  const processes = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name));
  for (const pid of processes) {
    for (const fd of await readdir(`/proc/${pid}/fd`).catch(() => [])) {
      const target = await readlink(`/proc/${pid}/fd/${fd}`).catch(() => '');
      if (!inodes.has(/^socket:\[(\d+)\]$/.exec(target)?.[1] ?? '')) continue;
      return { name: await nameOf(pid), pid: Number(pid) };
    }
  }
  return null;
}

/** `0100007F:0019` is 127.0.0.1:25: words of 32 bits, each with its last byte first. */
function listenerOf(local: string): ListenAddress {
  const [words = '', port = ''] = local.split(':');
  const bytes = Buffer.from(words, 'hex').swap32();
  const long = bytes.toString('hex').match(/.{4}/g) ?? [];
  const { address } =
    bytes.length === 4
      ? new SocketAddress({ address: bytes.join('.') })
      : new SocketAddress({ address: long.join(':'), family: 'ipv6' });
  return { host: address, port: Number.parseInt(port, 16) };
}

const MAX_NAME = 80;

/**
 * The command line without its options, such as `node /opt/postrider/src/main.ts serve`: the short name of a process is
 * `node` or `MainThread` for every program that Node runs.
 */
async function nameOf(pid: string): Promise<string> {
  const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
  // Programs that write their own title put all of it into one word: `nginx: master process /usr/sbin/nginx`.
  const [program = '', ...rest] = line.split('\0').filter((word) => word !== '');
  const at = rest.findIndex((word) => !word.startsWith('-'));
  const words = at < 0 ? [] : rest.slice(at);
  const end = words.findIndex((word) => word.startsWith('-'));
  const name = [
    program.startsWith('/') ? basename(program) : program,
    ...words.slice(0, end < 0 ? undefined : end),
  ];
  const text = shortened(name.join(' '), MAX_NAME);
  return text === '' ? 'a program' : text;
}
