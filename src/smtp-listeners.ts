/**
 * Builds the SMTP listeners: the certificates, submission with a login, and the listener for returned mail. Nothing
 * listens before each is started.
 */
import type { Registry } from 'prom-client';
import type { Accounts } from './accounts.ts';
import { bounceDomainOf } from './config/bounce-domain.ts';
import type { Mode } from './config/key-facts.ts';
import type { Config } from './config/table.ts';
import type { Engine } from './engine.ts';
import type { Clock } from './lib/clock.ts';
import type { Logger } from './lib/log.ts';
import type { Random } from './lib/random.ts';
import { type Certificates, openCertificates } from './lib/server-certificates.ts';
import { createReturns, type Returns } from './listeners/returns/open-returns.ts';
import {
  createSubmissionListener,
  DEFAULT_SUBMISSION_OPTIONS,
  type SubmissionOptions,
} from './listeners/submission/listener.ts';
import type { ReturnPathTokens } from './mail/verp.ts';
import { sendingCaller } from './model/submission.ts';
import type { CachingResolver } from './net/resolver.ts';
import { makeSelfSigned } from './net/self-signed.ts';
import type { Classifier } from './pipeline/deliver/outcome/classifier/classify.ts';
import { createReturnMetrics } from './pipeline/events/returns-metrics.ts';
import type { DomainService } from './policy/domains/domains.ts';
import type { Store } from './store/store.ts';

/** The SMTP listeners and their certificates. */
export interface SmtpListeners {
  certificates: Certificates;
  submission: ReturnType<typeof createSubmissionListener>;
  /** null = returned mail is not received here. */
  returns: Returns | null;
}

interface Parts {
  store: Store;
  clock: Clock;
  random: Random;
  log: Logger;
  registry: Registry;
  resolver: CachingResolver;
  domains: DomainService;
  accounts: Accounts;
  engine: Pick<Engine, 'acceptance'>;
  classifier: Pick<Classifier, 'classify'>;
  tokens: ReturnPathTokens;
  eventsStored(): void;
}

/** The caller for submission on loopback without a login, or with an unknown one; only in development. Names an inbox. */
const WITHOUT_LOGIN = sendingCaller('smtp');

/** Throws if a certificate's files cannot be read. `anyDomain`: mail from any domain is captured, none is sent. */
export async function openSmtpListeners(
  parts: Parts,
  {
    config,
    mode,
    folder,
    anyDomain,
    connections,
  }: {
    config: Config;
    mode: Mode;
    folder: string;
    anyDomain: boolean;
    /** Of clients of submission. */
    connections: Pick<SubmissionOptions, 'maxConnections' | 'maxConnectionsPerAddress'>;
  },
): Promise<SmtpListeners> {
  const { clock, random, log, accounts, domains } = parts;
  const { acceptance } = parts.engine;
  const roles = new Set(config.roles);
  const certificates = await openCertificates(
    { clock, report: (problem) => log.error({}, problem), renewed: (news) => log.info({}, news) },
    // A process without these listeners, such as a command, needs no files.
    (roles.has('submission') || (roles.has('returns') && config.returns !== null)) &&
      config['tls-cert'] !== null &&
      config['tls-key'] !== null
      ? { kind: 'files', cert: config['tls-cert'], key: config['tls-key'] }
      : { kind: 'pair', pair: makeSelfSigned({ clock, random }, [config.hostname]) },
  );
  const submission = createSubmissionListener(
    {
      access: accounts.access,
      credentials: accounts.smtpCredentials,
      sendRate: accounts.sendRate,
      refusals: accounts.refusals,
      acceptance,
      senders: domains,
      certificates,
      clock,
      random,
      log,
    },
    {
      submission: config.submission,
      submissionTls: config['submission-tls'],
      ...connections,
      hostname: config.hostname,
      startTls: config['submission-starttls'],
      development: mode === 'dev' ? { anybody: WITHOUT_LOGIN, anyAddress: anyDomain } : null,
      limits: {
        ...DEFAULT_SUBMISSION_OPTIONS.limits,
        maxMessageBytes: config['max-message-bytes'],
        // RFC 5321 §4.5.3.1.8: never fewer than a hundred.
        maxRecipients: Math.max(100, config['max-recipients']),
      },
    },
  );
  if (config.returns === null || !roles.has('returns')) return { certificates, submission, returns: null };
  const returns = createReturns(
    {
      store: parts.store,
      tokens: parts.tokens,
      classifier: parts.classifier,
      keys: async (name) => {
        const answer = await parts.resolver.of('returned mail').txt(name);
        if (answer.kind === 'found') return { kind: 'found', texts: answer.records };
        return { kind: answer.kind === 'failure' ? 'failure' : 'none' };
      },
      certificates,
      clock,
      random,
      log,
      metrics: createReturnMetrics(parts.registry),
      acceptance,
      senders: domains,
      eventsStored: parts.eventsStored,
    },
    {
      listen: config.returns,
      hostname: config.hostname,
      bounceDomain: bounceDomainOf(config),
      operatorAddress: config['operator-address'],
      data: folder,
    },
  );
  return { certificates, submission, returns };
}
