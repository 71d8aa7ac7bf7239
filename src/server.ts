/**
 * The composition root: configuration in, a running server out.
 *
 *   foundation (data folder, store, node, network) → parts → those that the roles need, started in order
 *
 * `stop` has an order of its own: it ends sending, then listening, lets running transactions finish, stores what is left,
 * releases leases, and closes the store last.
 */

import type { Role } from './config/keys/server.ts';
import { publicUrl } from './config/public-url.ts';
import { type Foundation, openFoundation, type ServerParams } from './foundation.ts';
import { atMost } from './lib/clock.ts';
import { eachInTurn } from './lib/each-in-turn.ts';
import type { Service } from './lib/service.ts';
import { createParts, type Parts } from './parts.ts';
import { connectionsInAll } from './server-options.ts';
import type { ListenAddress } from './smtp/server-listener.ts';

export interface RunningServer {
  /** `http://127.0.0.1:8025`, the real address of the listener. */
  readonly localUrl: string;
  /** The URL that clients and links use. */
  readonly publicUrl: string;
  /** Addresses of SMTP submission; null = off. */
  readonly submission: { plain: ListenAddress | null; tls: ListenAddress | null };
  /** Address for returned mail; null = off. */
  readonly returns: ListenAddress | null;
  /** How many connections its mail may use at once. */
  readonly maxConnectionsInAll: number;
  /** The administrator's token, also in the file `admin-token`. */
  readonly adminToken: string;
  readonly version: string;
  /** Reads certificates, shaping data and reply rules again (SIGHUP). */
  reload(): Promise<void>;
  /** Resolves with the reason when this process cannot continue and must be restarted. */
  readonly failed: Promise<string>;
  stop(deadlineMs: number): Promise<void>;
}

/** A client that has not sent the rest of a message by then sends it again. */
const SMTP_DRAIN_MS = 10_000;
/** Running requests may take this long. */
const HTTP_DRAIN_MS = 5_000;
/** Releasing leases gets at least this long, however long the rest took. */
const GIVE_BACK_MS = 1_000;

/** Starts every configured role. Rejects with a message that an operator can act on. */
export async function startServer(params: ServerParams): Promise<RunningServer> {
  const foundation = await openFoundation(params);
  const { config } = params.loaded;
  const { node, folder } = foundation;
  const log = foundation.logs.service;
  const started: Service[] = [];
  try {
    const parts = await createParts(foundation, params);
    for (const service of inOrder(parts, foundation, new Set(config.roles))) {
      await service.start();
      started.push(service);
    }
    const { accounts, submission, returns } = parts;
    const { host, port, url } = parts.http.address();
    await folder.announce(url);
    const known = publicUrl(config, { host, port });
    const shown = config['http-certificate'] === null ? url : known;
    log.info({ url: shown, epoch: node.epoch, roles: config.roles, version: params.version }, 'started');
    return {
      localUrl: url,
      publicUrl: known,
      maxConnectionsInAll: connectionsInAll(params.openFiles),
      submission: { plain: submission.addresses().submission, tls: submission.addresses().submissionTls },
      returns: returns?.address() ?? null,
      adminToken: accounts.adminToken,
      version: params.version,
      failed: foundation.failed,
      reload: parts.reload,
      async stop(deadlineMs) {
        log.info({}, 'stopping');
        await eachInTurn(log, stopSteps(parts, foundation, new Set(started), deadlineMs));
        log.info({}, 'stopped');
      },
    };
  } catch (cause) {
    await eachInTurn(log, [
      ...started.reverse().map((service) => () => service.stop(GIVE_BACK_MS)),
      foundation.close,
    ]);
    throw cause;
  }
}

/** What the roles of this process need; listeners are started last. */
function inOrder(parts: Parts, { membership }: Foundation, roles: ReadonlySet<Role>): readonly Service[] {
  const { engine, webhooks, jobs, strays, disk, readerFacts, http, submission, returns } = parts;
  const when = (is: boolean, ...services: readonly Service[]) => (is ? services : []);
  return [
    ...(membership === null ? [] : [membership]),
    roles.has('deliver') ? engine : engine.queue.counting,
    ...when(roles.has('webhooks'), webhooks.sender),
    ...when(roles.has('upkeep'), ...jobs),
    ...[strays, disk, readerFacts, http],
    ...when(roles.has('submission'), submission),
    ...(returns === null ? [] : [returns]),
  ];
}

/** All parts share one deadline. From the first step on nothing new is sent or called; what still arrives is stored. */
function stopSteps(
  { engine, webhooks, jobs, strays, disk, readerFacts, http, submission, returns, authAlarm }: Parts,
  { clock, membership, close }: Foundation,
  started: ReadonlySet<Service>,
  deadlineMs: number,
): Parameters<typeof eachInTurn>[1] {
  const endMs = clock.monotonicMs() + deadlineMs;
  const leftMs = () => Math.max(0, endMs - clock.monotonicMs());
  const working = [...jobs, strays, webhooks.sender].filter((service) => started.has(service));
  let sent: Promise<unknown> = Promise.resolve();
  return [
    () => {
      sent = Promise.all([...working.map((service) => service.stop(leftMs())), engine.drain(leftMs())]);
      sent.catch(() => undefined); // Told by the step that awaits it.
    },
    // Messages that are arriving by SMTP may still be accepted; all other clients are asked to come back.
    () => (started.has(submission) ? submission.stop(Math.min(leftMs(), SMTP_DRAIN_MS)) : undefined),
    () => returns?.stop(Math.min(leftMs(), SMTP_DRAIN_MS)),
    engine.acceptance.close,
    () => http.stop(Math.min(leftMs(), HTTP_DRAIN_MS)),
    () => readerFacts.stop(Math.max(leftMs(), GIVE_BACK_MS)),
    () => disk.stop(0),
    () => (started.has(engine.queue.counting) ? engine.queue.counting.stop(0) : undefined),
    () => sent,
    () => engine.stop(Math.max(leftMs(), GIVE_BACK_MS)),
    () => atMost(clock, Math.min(leftMs(), GIVE_BACK_MS), authAlarm.settled()),
    () => membership?.stop(GIVE_BACK_MS),
    close,
  ];
}
