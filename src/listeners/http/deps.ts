/**
 * What the HTTP listener needs, and its limits. Types, and the defaults of the options; the composition root provides
 * both.
 */

import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import type { PlainAnswer, PlainRequest, PlainRoute } from '../../lib/plain-route.ts';
import type { Random } from '../../lib/random.ts';
import type { Certificates } from '../../lib/server-certificates.ts';
import type { Lane } from '../../model/message.ts';
import type { NodeLease } from '../../model/node.ts';
import type { CheckSpam } from '../../model/spam.ts';
import type { Caller } from '../../model/submission.ts';
import type { Acceptance } from '../../pipeline/accept/acceptance.ts';
import type { PersonalTexts } from '../../pipeline/deliver/prepare/personal-texts.ts';
import type { Queue } from '../../pipeline/queue/queue.ts';
import type { WebhookService } from '../../pipeline/webhooks/webhooks.ts';
import type { Access } from '../../policy/access/access.ts';
import type { IdentityProvider } from '../../policy/access/identity-provider.ts';
import type { People } from '../../policy/access/people.ts';
import type { Refusals } from '../../policy/access/refusals.ts';
import type { SecondFactors } from '../../policy/access/second-factor.ts';
import type { Sessions } from '../../policy/access/sessions.ts';
import type { SmtpCredentials } from '../../policy/access/smtp-credentials.ts';
import type { DomainCheck } from '../../policy/domains/doctor/check.ts';
import type { DomainService } from '../../policy/domains/domains.ts';
import type { GuardRails } from '../../policy/limits/guard-rails.ts';
import type { SendRate } from '../../policy/limits/send-rate.ts';
import type { Storage } from '../../policy/limits/storage.ts';
import type { WarmupView } from '../../policy/limits/warmup/warmup.ts';
import type { SandboxRules } from '../../policy/sandbox/sandbox-rules.ts';
import type { Store } from '../../store/store.ts';
import type { ConfigAnswer, SubmissionPort } from './answer-schemas.ts';
import type { CreateOnce } from './create-once.ts';
import type { WithKey } from './idempotency.ts';
import type { Traffic } from './operations/traffic.ts';
import type { CaptureFeed } from './sandbox/capture-feed.ts';
import type { CapturedReader } from './sandbox/captured-reader.ts';
import type { NearestCaptures } from './sandbox/sandbox-nearest.ts';
import type { CaptureSearch } from './sandbox/sandbox-search.ts';
import type { EmailReader } from './send/email-reader.ts';
import type { emailSchema } from './send/fields.ts';
import { DEFAULT_EMAIL_LIMITS } from './send/limits.ts';
import type { TemplateWork } from './templates/template-work.ts';
import type { WorkerPool } from './worker-pool.ts';

/** A problem of this server, now or soon. */
export interface ServerProblem {
  name: string;
  /** false: it does not work now. */
  ok: boolean;
  /** What is wrong; '' = nothing. */
  detail: string;
}

export interface HttpDeps {
  store: Store;
  access: Access;
  /** People who sign in to the dashboard. */
  people: People;
  sessions: Sessions;
  secondFactors: SecondFactors;
  /** By which people sign in beside their passwords; absent or null: none. */
  identityProvider?: IdentityProvider | null;
  /** Who the dashboard acts as without a session; left out: somebody has to sign in. */
  ownPage?(): Promise<Caller>;
  /** Of TLS on the port; absent = plain HTTP. */
  certificates?: Certificates;
  /** Gets every refused request. */
  refusals: Refusals;
  smtpCredentials: SmtpCredentials;
  /** SpamAssassin, for the checks of captured mail; absent or null: it is not configured. */
  checkSpam?: CheckSpam | null;
  /** Shared with other listeners. */
  sendRate: SendRate;
  /** Storage used by sender domains; absent = unlimited. */
  storage?: Pick<Storage, 'use'>;
  acceptance: Acceptance;
  domains: DomainService;
  /**
   * Examines this server. `lastInstance`: the last result, with only the disk and certificate files looked at anew; null =
   * none yet.
   */
  doctor: {
    instance(): Promise<readonly DomainCheck[]>;
    /** Addresses that mail leaves from, as far as they are known. */
    sendingAddresses(): Promise<readonly string[]>;
    lastInstance(): Promise<{ at: number; checks: readonly DomainCheck[] } | null>;
  };
  /** Where this server takes mail by SMTP from programs. */
  submission(): readonly SubmissionPort[];
  /** What prevents this server from working, as /readyz shows it. */
  problems(): Promise<readonly ServerProblem[]>;
  /** The bounce and complaint rates of sender domains. */
  guard: Pick<GuardRails, 'standing' | 'warned'>;
  webhooks: WebhookService;
  /** Called when recipients are due now. */
  queue: Pick<Queue, 'wake' | 'changing'>;
  /** Whether mail to a recipient would leave this server by its route. */
  leadsOut(mail: {
    senderDomain: string;
    recipientDomain: string;
    lane: Lane;
    tags: readonly string[];
  }): boolean;
  sandboxRules: Pick<SandboxRules, 'list' | 'add' | 'remove'>;
  /** Called when events with webhook calls were stored. */
  eventsStored(): void;
  /** Calls the listener after this process stored anything, until the returned function is called. */
  onStored(listener: () => void): () => void;
  /** This process among the nodes. */
  node: NodeLease;
  /** How many nodes run, with this one. */
  nodes(): number;
  warmup: { list(): readonly WarmupView[] };
  /** The texts for the token slots of one recipient's copy. */
  personalTexts: PersonalTexts;
  /** Paths, overrides, holds. */
  traffic: Traffic;
  /** The configuration in force, without secrets. */
  config(): ConfigAnswer;
  /** Base of links where none is configured; absent = the address of the listener. */
  ownUrl?(): string;
  /** Known to this instance alone, for what is kept of bodies with a password. */
  fingerprintKey: Uint8Array;
  clock: Clock;
  random: Random;
  log: Logger;
  /** Mounted at the root of the same port: health, tracking, dashboard. */
  routes?: readonly PlainRoute[];
  /** For an address that nothing is at: a page for people; null where a program asks. */
  missingPage?(header: PlainRequest['header']): PlainAnswer | null;
}

/** What the operations share inside this listener. */
export interface Shared {
  workers: WorkerPool;
  captured: CapturedReader;
  withKey: WithKey;
}

/** What every operation is given. */
export interface ApiParts extends HttpDeps, Shared {
  /** Answers a repeated Idempotency-Key of what is created, other than mail. */
  createOnce: CreateOnce;
  /** The same for bodies with a password. */
  createWithPasswordOnce: CreateOnce;
  work: TemplateWork;
  reader: EmailReader;
  /** Schema of the body of `POST /email`. */
  email: ReturnType<typeof emailSchema>;
  search: CaptureSearch;
  feed: CaptureFeed;
  nearest: NearestCaptures;
}

export const DEFAULT_HTTP_OPTIONS = {
  /** How the server was started. */
  mode: 'serve' as 'dev' | 'serve',
  /** Whether mail is accepted from a domain that was not added. */
  anyDomain: false,
  /** How a command for this server begins. */
  command: 'postrider',
  dataFolder: '',
  host: '127.0.0.1',
  /** 0 = any free port. */
  port: 0,
  /** CIDRs whose X-Forwarded-For is trusted. */
  trustedProxies: [] as readonly string[],
  /** Open connections, and requests of HTTP/2 that run at once; one more is closed, or refused. */
  maxConnections: 10_000,
  /** The same of one IPv4 address or IPv6 network of 64 bits, but for trusted proxies; one of 48 bits has at most half of all. */
  maxConnectionsPerAddress: 1_000,
  /** Octets of a request body, also after inflation; more gives 413. */
  maxBodyBytes: 32 * 1024 * 1024,
  /** Octets of bodies in memory over all requests, at most (`lib/byte-budget.ts`); what does not fit gets 503. */
  maxHeldBodyBytes: 256 * 1024 * 1024,
  /** Octets of large answers that clients have not read yet; what does not fit gets 503. */
  maxHeldAnswerBytes: 128 * 1024 * 1024,
  /** A client that reads nothing of a large answer for this time is cut off. */
  stalledAnswerMs: 30_000,
  /**
   * A connection on which nothing moved for this time is closed, also if an answer of any size waits there for its client;
   * longer than any answer is worked on.
   */
  silentConnectionMs: 300_000,
  email: DEFAULT_EMAIL_LIMITS,
  /** Refused file name extensions, lower case, without the dot. */
  blockedExtensions: [] as readonly string[],
  /** Bodies larger than this are read and composed in a worker thread. */
  workerThresholdBytes: 256 * 1024,
  /** Worker threads that one tenant may use; there is one more. */
  maxWorkers: 2,
  /** Jobs waiting for a worker; further ones get 503. */
  maxWorkerQueue: 16,
  /** The maximum time of a worker for one request. */
  workerDeadlineMs: 15_000,
  /**
   * Captured messages larger than this are parsed in a worker: parsing takes longer than for a body of the same size.
   */
  capturedHereBytes: 4 * 1024,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 120_000,
  keepAliveTimeoutMs: 72_000,
  /** Open streams of one kind per tenant. */
  streamsPerTenant: 25,
  /** Maximum age of mail that is queued again; null = that of its lane. */
  maxAgeMs: null as number | null,
  /** Domain of simulator addresses. */
  simulatorDomain: 'simulator.test',
  /** How long the answer to an Idempotency-Key is repeated. */
  idempotencyWindowMs: 24 * 3_600_000,
};

export type HttpOptions = typeof DEFAULT_HTTP_OPTIONS & {
  /** Base of links in answers, without a slash at its end; undefined = from the listening address. */
  publicUrl?: string;
};
