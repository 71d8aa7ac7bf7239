/** What delivery needs, and its configuration. Types only. */
import type { Clock } from '../../lib/clock.ts';
import type { Failpoints } from '../../lib/failpoints.ts';
import type { Logger } from '../../lib/log.ts';
import type { Random } from '../../lib/random.ts';
import type { PersonalTokens } from '../../mail/personal-token.ts';
import type { ReturnPathTokens } from '../../mail/verp.ts';
import type { AddressCheck } from '../../net/address-filter.ts';
import type { CachingResolver } from '../../net/resolver.ts';
import type { Connect } from '../../net/sockets.ts';
import type { EgressMemory } from '../../policy/limits/shaping/egress-memory.ts';
import type { Overrides, Shaping } from '../../policy/limits/shaping/types.ts';
import type { Warmup } from '../../policy/limits/warmup/warmup.ts';
import type { SandboxRules } from '../../policy/sandbox/sandbox-rules.ts';
import type { TlsContexts } from '../../smtp/client-tls.ts';
import type { Store } from '../../store/store.ts';
import type { Gate } from '../queue/gate.ts';
import type { Queue } from '../queue/queue.ts';
import type { RetrySchedule } from '../queue/retry-schedule.ts';
import type { DeliverMetrics } from './deliver-metrics.ts';
import type { Classifier } from './outcome/classifier/classify.ts';
import type { SenderEffects } from './outcome/sender-effects.ts';
import type { SettlementRules } from './outcome/settlement.ts';
import type { WantEgress } from './path/paths.ts';
import type { PathStates } from './path/states.ts';
import type { SenderSettings } from './prepare/prepared.ts';
import type { SignerSource } from './prepare/signing.ts';
import type { Port25Watch } from './routing/port-25.ts';
import type { RelayHealth } from './routing/relay-health.ts';
import type { Sites } from './routing/sites.ts';
import type { CountTls } from './tls/counters.ts';
import type { MtaSts } from './tls/mta-sts.ts';

export interface DeliverDeps {
  store: Store;
  queue: Queue;
  sites: Sites;
  shaping: Pick<Shaping, 'limitsFor'>;
  overrides: Overrides;
  states: PathStates;
  gate: Pick<Gate, 'mail'>;
  rules: SettlementRules;
  classifier: Pick<Classifier, 'classify'>;
  retry: RetrySchedule;
  signers: SignerSource;
  senders: SenderSettings;
  tokens: ReturnPathTokens;
  personalTokens: PersonalTokens;
  resolver: CachingResolver;
  /** Which addresses of mail servers may be connected to. */
  filter: AddressCheck;
  tlsContexts: TlsContexts;
  mtaSts: MtaSts;
  countTls: CountTls;
  clock: Clock;
  random: Random;
  log: Logger;
  mailLog: Logger;
  metrics: DeliverMetrics;
  failpoints: Failpoints;
  relays: RelayHealth;
  /** Observed facts about far ends. */
  egressMemory: Pick<EgressMemory, 'facts'>;
  port25: Port25Watch;
  /** What replies change for one sender domain. */
  senderEffects: SenderEffects;
  warmup: Warmup;
  /** The sandbox rules. */
  sandboxRules: Pick<SandboxRules, 'ruleFor'>;
  egress?: WantEgress;
  /** How connections are opened; default: TCP. */
  connect?: Connect;
}

export interface DeliverOptions {
  heloName: string;
  bounceDomain: string;
  mxPort: number;
  /** Mail may also be sent over IPv6. */
  ipv6: boolean;
  /** Of one path. */
  maxConnections: number;
  /** Of all paths. */
  maxConnectionsInAll: number;
}
