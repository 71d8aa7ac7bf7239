/**
 * The returns listener: the port for bounces, complaints and unsubscribes, and the loop that reads them. Mail is
 * written to the spool and acknowledged, then read one by one; what was not read when the process ended is read at the
 * next start.
 */

import type { Certificates } from '../../lib/server-certificates.ts';
import type { Service } from '../../lib/service.ts';
import type { ReturnedMailReader } from '../../pipeline/events/returned-mail.ts';
import { addressKey, networkKey } from '../../policy/access/failed-logins.ts';
import { createSmtpPorts, type ListenAddress } from '../../smtp/server-listener.ts';
import { SERVER_LIMITS, type ServerLimits } from '../../smtp/server-types.ts';
import type { OperatorMail } from './operator-mail.ts';
import { createReadingLoop } from './reading-loop.ts';
import { createReturnsHandler, type ReturnsHandlerDeps } from './returns-handler.ts';

export interface ReturnsListener extends Service {
  /** The real address; null before `start()`. */
  address(): ListenAddress | null;
  /** Resolves when all waiting mail was processed once. */
  idle(): Promise<void>;
}

export interface ReturnsDeps extends Omit<ReturnsHandlerDeps, 'arrived'> {
  reader: ReturnedMailReader;
  operatorMail: OperatorMail;
  certificates: Certificates;
}

const DEFAULT_RETURNS_OPTIONS = {
  maxConnections: 100,
  maxConnectionsPerAddress: 5,
  /** Octets that all arriving messages may hold together. */
  maxMemoryBytes: 64 * 1024 * 1024,
};

export type ReturnsOptions = typeof DEFAULT_RETURNS_OPTIONS & {
  /** Port 0 = any free one. */
  listen: ListenAddress;
  hostname: string;
};

const LIMITS: ServerLimits = {
  ...SERVER_LIMITS,
  maxMessageBytes: 2 * 1024 * 1024,
  maxRecipients: 10,
  // Returned mail contains mail of others, and not all of it has lines of at most 998 octets.
  maxLineBytes: 64 * 1024,
};
/** When nearly full, timeouts are shorter, so that slow peers make room for others. */
const STRESSED: ServerLimits = {
  ...LIMITS,
  commandMs: 20_000,
  lineMs: 15_000,
  dataIdleMs: 20_000,
  dataGraceMs: 30_000,
};
const STRESS_SHARE = 0.8;

export function createReturnsListener(
  deps: ReturnsDeps,
  given: Partial<ReturnsOptions> & Pick<ReturnsOptions, 'listen' | 'hostname'>,
): ReturnsListener {
  const options: ReturnsOptions = { ...DEFAULT_RETURNS_OPTIONS, ...given };
  const { clock, log, spool, metrics } = deps;
  const loop = createReadingLoop(deps);
  const handlerDeps: ReturnsHandlerDeps = { ...deps, arrived: () => loop.wake() };
  const ports = createSmtpPorts(
    {
      clock,
      log,
      certificates: deps.certificates,
      peerKey: addressKey,
      ownerKey: networkKey,
      terms: ({ ip, connections }) => ({
        handler: createReturnsHandler(handlerDeps, { ip }),
        auth: null,
        limits: connections > options.maxConnections * STRESS_SHARE ? STRESSED : LIMITS,
      }),
    },
    {
      ports: [{ ...options.listen, implicitTls: false }],
      hostname: options.hostname,
      maxConnections: options.maxConnections,
      maxConnectionsPerAddress: options.maxConnectionsPerAddress,
      maxMemoryBytes: options.maxMemoryBytes,
    },
  );

  return {
    async start() {
      await ports.start();
      const waiting = spool.waiting().length;
      metrics.waiting(waiting);
      if (waiting > 0) log.info({ waiting }, 'returned mail from before is read');
      loop.wake();
    },
    async stop(deadlineMs) {
      await ports.stop(deadlineMs);
      await loop.stop();
    },
    address: () => ports.addresses()[0] ?? null,
    idle: () => loop.idle(),
  };
}
