/**
 * Opens one TCP connection to one IP address. Names are resolved and checked elsewhere, so anything except an IP
 * address is refused: a name here would bypass those checks. Returns a connected socket with TCP_NODELAY and an empty
 * `error` listener, so that a reset before the owner adds its own listeners cannot end the process. Failures (refused,
 * unreachable, too slow, aborted, a fault of this machine) are values, and no socket stays open then.
 */
import { createSocket } from 'node:dgram';
import { connect, isIP, isIPv6, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { Duplex } from 'node:stream';
import type { Clock } from '../lib/clock.ts';
import { explainFiles } from '../lib/open-files.ts';

export interface ConnectRequest {
  /** IPv4 or IPv6 literal, no brackets. */
  address: string;
  port: number;
  /** Source address to bind, an IP literal. */
  localAddress?: string | undefined;
  timeoutMs: number;
  clock: Clock;
  signal?: AbortSignal | undefined;
}

type Wanted = Pick<ConnectRequest, 'address' | 'localAddress'>;

type ConnectResult<Stream extends Duplex = Duplex> =
  | { kind: 'connected'; socket: Stream }
  /** `local`: the fault of this machine, whatever the far end does; the detail says what to do. */
  | { kind: 'refused' | 'timeout' | 'unreachable' | 'local' | 'aborted' | 'error'; detail: string };

/** How a connection is opened: `connectTcp`, or the simulated network of a test. */
export type Connect = (request: ConnectRequest) => Promise<ConnectResult>;

const UNREACHABLE = new Set(['EHOSTUNREACH', 'ENETUNREACH', 'EHOSTDOWN', 'ENETDOWN', 'EADDRNOTAVAIL']);

const DISCARD_PORT = 9;

/**
 * NATs and firewalls forget a connection on which nothing moves, some after four minutes: the reply of a far end that examines a
 * message longer would not arrive. A far end that restarted, or a way that is gone, is noticed within ten seconds then.
 */
const KEEP_ALIVE_AFTER_MS = 120_000;

/** What is wrong at this machine, and what to do; null: the fault is not here. Also of a datagram that is sent. */
export async function localFault(
  { code, syscall }: NodeJS.ErrnoException,
  wanted: Wanted,
): Promise<string | null> {
  switch (code) {
    case 'EMFILE':
    case 'ENFILE':
      return explainFiles(code);
    case 'ENOBUFS':
    case 'ENOMEM':
      return `this machine has no memory left for a connection (${code}): give it more, or allow fewer connections`;
    case 'EACCES':
    case 'EPERM':
      return `this machine does not permit it (${code}): look at its firewall, its routes (ip route), and what the service is allowed`;
    case 'EADDRNOTAVAIL':
      if (syscall === 'bind' && wanted.localAddress !== undefined)
        return `the source address ${wanted.localAddress} is not an address of this machine (EADDRNOTAVAIL): add it with ip address add, or correct it under sources in postrider.json`;
      // Where IPv6 is routed and this machine has no address, the system says the same.
      if (isIPv6(wanted.address) && !has('IPv6')) return null;
      return portsUsedUp(code);
    // The same with a source address.
    case 'EADDRINUSE':
      return portsUsedUp(code);
    case 'ENETUNREACH':
    case 'ENETDOWN':
      // A machine that reaches others over IPv4 needs no IPv6, unless mail is to leave from such an address of it: then it is the
      // far end that cannot be reached without.
      if (isIPv6(wanted.address) && wanted.localAddress === undefined && has('IPv4')) return null;
      if (code === 'ENETUNREACH' && (await hasRoute(wanted))) return null;
      if (!isIPv6(wanted.address) && !has('IPv4') && has('IPv6'))
        return `this machine has IPv6 addresses only, and ${wanted.address} is of IPv4 (${code}): give it IPv4, or a NAT64 with a CLAT; mail to hosts with IPv6 can go over it (key ipv6)`;
      return `this machine has no route to ${wanted.address} (${code}): look at its interfaces (ip link) and its routes (ip route)`;
    default:
      return null;
  }
}

/** Whether the system knows a way to an address; nothing is sent. A router that knows none causes the same error as no way from here. */
function hasRoute({ address, localAddress }: Wanted): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createSocket(isIPv6(address) ? 'udp6' : 'udp4');
    const settle = (known: boolean) => {
      socket.close();
      resolve(known);
    };
    socket.once('error', () => settle(false));
    socket.once('connect', () => settle(true));
    socket.bind({ address: localAddress }, () => socket.connect(DISCARD_PORT, address));
  });
}

function portsUsedUp(code: string): string {
  return `all local ports to this host are in use (${code}): widen net.ipv4.ip_local_port_range (sysctl), or allow fewer connections (max-connections)`;
}

function has(family: 'IPv4' | 'IPv6'): boolean {
  try {
    return Object.values(networkInterfaces()).some((all) =>
      all?.some((own) => own.family === family && !own.internal && !(own.scopeid ?? 0)),
    );
  } catch {
    // The system lists none to a process without open files left, or without AF_NETLINK. Most machines have both.
    return true;
  }
}

function failureKind(code: string | undefined): 'refused' | 'timeout' | 'unreachable' | 'error' {
  if (code === 'ECONNREFUSED') return 'refused';
  if (code === 'ETIMEDOUT') return 'timeout';
  return code !== undefined && UNREACHABLE.has(code) ? 'unreachable' : 'error';
}

/**
 * All input is read into this buffer first and copied from there. Otherwise Node allocates 64 KiB for each read and
 * frees all but the few octets of a reply, which leaves a gap of nearly 64 KiB that the next read does not fit into. It
 * holds nothing between two reads.
 */
const LANDING = Buffer.allocUnsafeSlow(64 * 1024);

/** Connects within `timeoutMs`. Never throws; after anything but `connected` the socket is destroyed. */
export function connectTcp(request: ConnectRequest): Promise<ConnectResult<Socket>> {
  const { address, port, localAddress, timeoutMs, clock, signal } = request;
  if (isIP(address) === 0) {
    return Promise.resolve({ kind: 'error', detail: `not an IP address: ${address.slice(0, 80)}` });
  }
  if (localAddress !== undefined && isIP(localAddress) === 0) {
    return Promise.resolve({ kind: 'error', detail: 'the source address is not an IP address' });
  }
  if (!Number.isInteger(port) || port < 1 || port > 65_535) {
    return Promise.resolve({ kind: 'error', detail: `not a port: ${port}` });
  }
  if (signal?.aborted === true)
    return Promise.resolve({ kind: 'aborted', detail: 'aborted before connecting' });
  return new Promise((resolve) => {
    const socket: Socket = connect({
      host: address,
      port,
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: KEEP_ALIVE_AFTER_MS,
      autoSelectFamily: false,
      ...(localAddress === undefined ? {} : { localAddress }),
      onread: {
        buffer: LANDING,
        // As Node does with its own buffer: false asks to stop reading.
        callback: (octets) => socket.push(Buffer.from(LANDING.subarray(0, octets))),
      },
    });
    let settled = false;
    const settle = (result: ConnectResult<Socket>) => {
      if (settled) return;
      settled = true;
      timer.cancel();
      signal?.removeEventListener('abort', onAbort);
      if (result.kind !== 'connected') socket.destroy();
      resolve(result);
    };
    const onAbort = () => settle({ kind: 'aborted', detail: 'aborted while connecting' });
    const timer = clock.setTimer(timeoutMs, () => {
      settle({ kind: 'timeout', detail: `no connection within ${timeoutMs} ms` });
    });
    signal?.addEventListener('abort', onAbort, { once: true });
    socket.on('error', async (error: NodeJS.ErrnoException) => {
      if (settled) return;
      const fault = await localFault(error, request);
      if (fault !== null) settle({ kind: 'local', detail: fault });
      else settle({ kind: failureKind(error.code), detail: error.code ?? error.message });
    });
    socket.once('connect', () => settle({ kind: 'connected', socket }));
  });
}
