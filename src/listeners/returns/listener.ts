/**
 * The returns listener: the port where bounces, complaints and opt-outs arrive, and the loop that reads them. Mail is
 * written to the spool and acknowledged, then read one by one; what was not read when the process ended is read at the
 * next start. A message that cannot be read is put aside with the reason, and the next one is read. While the store is
 * away everything waits.
 */
import type { Clock, Timer } from '../../lib/clock.ts';
import { AppError } from '../../lib/errors.ts';
import type { Service } from '../../lib/loop.ts';
import type { Disposition, ReturnedMailReader } from '../../pipeline/events/returned-mail.ts';
import { addressKey } from '../../policy/access/failed-logins.ts';
import type { Certificates } from '../../smtp/server-certificates.ts';
import { createSmtpPorts, type ListenAddress } from '../../smtp/server-listener.ts';
import { SERVER_LIMITS, type ServerLimits } from '../../smtp/server-types.ts';
import { StoreUnavailable } from '../../store/store.ts';
import type { OperatorMail } from './operator-mail.ts';
import { createReturnsHandler, type ReturnsHandlerDeps } from './returns-handler.ts';
import type { SpooledMail } from './spool.ts';

export interface ReturnsListener extends Service {
  /** Where the port really is; null before `start()`. */
  address(): ListenAddress | null;
  /** Resolves when everything that waits now was looked at once. */
  idle(): Promise<void>;
}

export interface ReturnsDeps extends Omit<ReturnsHandlerDeps, 'arrived'> {
  reader: ReturnedMailReader;
  operatorMail: OperatorMail;
  certificates: Certificates;
}

export interface ReturnsOptions {
  /** Port 0 = any free one. */
  listen: ListenAddress;
  hostname: string;
  maxConnections: number;
  maxConnectionsPerAddress: number;
  /** Octets that arriving messages may hold together. */
  maxMemoryBytes: number;
}

export const DEFAULT_RETURNS_OPTIONS: Omit<ReturnsOptions, 'listen' | 'hostname'> = {
  maxConnections: 100,
  maxConnectionsPerAddress: 5,
  maxMemoryBytes: 64 * 1024 * 1024,
};

const LIMITS: ServerLimits = {
  ...SERVER_LIMITS,
  maxMessageBytes: 2 * 1024 * 1024,
  maxRecipients: 10,
  // Other people's mail comes back inside, and not all of it keeps to 998.
  maxLineBytes: 64 * 1024,
};
/** Nearly full: whoever is slow makes room for whoever is not (stress shortens timeouts first). */
const STRESSED: ServerLimits = {
  ...LIMITS,
  commandMs: 20_000,
  lineMs: 15_000,
  dataIdleMs: 20_000,
  dataGraceMs: 30_000,
};
const STRESS_SHARE = 0.8;
/** A delivery under way, or a store that is away, is looked at again after this. */
const RETRY_MS = 2_000;

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

interface ReadingLoop {
  /** There may be something to read. */
  wake(): void;
  idle(): Promise<void>;
  /** Finishes the message in hand. */
  stop(): Promise<void>;
}

/** Reads what waits in the spool, one by one, oldest first. */
function createReadingLoop(deps: ReturnsDeps): ReadingLoop {
  const { reader, operatorMail, spool, clock, log, metrics } = deps;
  const later = createRetryTimer(clock, () => wake());
  let running: Promise<void> | null = null;
  let again = false;
  let stopped = false;
  /** Those that could not even be put aside: they stay, and are looked at again at the next start. */
  const stuck = new Set<string>();

  return {
    wake,
    async idle() {
      while (running !== null) await running;
    },
    async stop() {
      stopped = true;
      later.cancel();
      await running;
    },
  };

  function wake(): void {
    if (stopped) return;
    again = true;
    running ??= run().finally(() => {
      running = null;
    });
  }

  async function run(): Promise<void> {
    while (again && !stopped) {
      again = false;
      for (const id of spool.waiting()) {
        if (stopped) break;
        if (!stuck.has(id) && (await readOne(id)) === 'store-away') break;
      }
      metrics.waiting(spool.waiting().length);
    }
  }

  async function readOne(id: string): Promise<'read' | 'store-away'> {
    try {
      const mail = await spool.read(id);
      if (mail === null) await quarantine(id, 'the file is damaged: its first line is no envelope');
      else await settle(id, mail, await reader.take({ ...mail, envelopeFrom: mail.from }));
      return 'read';
    } catch (err) {
      if (isAway(err)) {
        later.arm();
        return 'store-away';
      }
      log.error({ err, id }, 'returned mail could not be read and is put aside');
      await quarantine(
        id,
        `reading it failed: ${err instanceof Error ? (err.stack ?? err.message) : String(err)}`,
      );
      return 'read';
    }
  }

  async function settle(id: string, mail: SpooledMail, disposition: Disposition): Promise<void> {
    switch (disposition.kind) {
      case 'done':
        return spool.remove(id);
      case 'later':
        later.arm();
        return;
      case 'keep': {
        const { folder, why } = disposition;
        const stays = folder === 'operator' ? await operatorMail.passOn(id, mail) : null;
        if (folder === 'operator' && stays === null) {
          log.info({ id, why }, 'returned mail was passed on to the operator');
          return spool.remove(id);
        }
        const reason = stays === null ? why : `${why}; ${stays}`;
        await spool.keep(id, folder, reason);
        log.warn({ id, folder, why: reason }, 'returned mail waits for a person');
      }
    }
  }

  async function quarantine(id: string, why: string): Promise<void> {
    metrics.quarantined();
    await spool.keep(id, 'quarantine', why).catch((err: unknown) => {
      stuck.add(id);
      log.error({ err, id }, 'returned mail could not be put aside and stays in the spool');
    });
  }
}

/** The store, or acceptance, cannot take anything now. */
function isAway(error: unknown): boolean {
  return (
    error instanceof StoreUnavailable || (error instanceof AppError && error.retryAfterSeconds !== undefined)
  );
}

function createRetryTimer(clock: Clock, fire: () => void): { arm(): void; cancel(): void } {
  let timer: Timer | null = null;
  return {
    arm() {
      timer ??= clock.setTimer(RETRY_MS, () => {
        timer = null;
        fire();
      });
    },
    cancel() {
      timer?.cancel();
      timer = null;
    },
  };
}
