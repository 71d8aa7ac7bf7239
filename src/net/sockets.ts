/**
 * Opens one TCP connection to one address. Names are resolved elsewhere (and checked there), so anything that is not
 * an IP literal is refused: a name that slipped through would bypass those checks.
 * Given: an address, a port and a time limit. Leaves behind: a connected socket with TCP_NODELAY and a silent `error`
 * listener, so that a reset before the owner attaches its own listeners cannot end the process.
 * Can go wrong: refused, unreachable, too slow, aborted; each comes back as a value, and no socket stays open then.
 */
import { connect, isIP, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Clock } from '../lib/clock.ts';

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

export type ConnectResult<Stream extends Duplex = Duplex> =
  | { kind: 'connected'; socket: Stream }
  | { kind: 'refused' | 'timeout' | 'unreachable' | 'aborted' | 'error'; detail: string };

/** How a connection is had: `connectTcp`, or a network that a test plays. */
export type Connect = (request: ConnectRequest) => Promise<ConnectResult>;

const UNREACHABLE = new Set(['EHOSTUNREACH', 'ENETUNREACH', 'EHOSTDOWN', 'ENETDOWN', 'EADDRNOTAVAIL']);

function failureKind(code: string | undefined): 'refused' | 'timeout' | 'unreachable' | 'error' {
  if (code === 'ECONNREFUSED') return 'refused';
  if (code === 'ETIMEDOUT') return 'timeout';
  return code !== undefined && UNREACHABLE.has(code) ? 'unreachable' : 'error';
}

/**
 * Where the octets of every connection land before they are copied to what they need. Node takes 64 KiB from malloc for
 * each read and gives back all but the few octets of a reply: a hole of nearly 64 KiB behind each, until the next
 * collection, that the next read does not fit into. Holds nothing between two reads.
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
      autoSelectFamily: false,
      ...(localAddress === undefined ? {} : { localAddress }),
      onread: {
        buffer: LANDING,
        // As Node does with memory of its own: false asks to stop reading.
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
    socket.on('error', (error: NodeJS.ErrnoException) => {
      settle({ kind: failureKind(error.code), detail: error.code ?? error.message });
    });
    socket.once('connect', () => settle({ kind: 'connected', socket }));
  });
}
