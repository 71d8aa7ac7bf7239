/**
 * What the parts of one path work with: what all paths share, what is specific to one, and the parts that know of no
 * other. A part takes those that it names.
 */
import type { Alarm } from '../../../lib/alarm.ts';
import type { Clock } from '../../../lib/clock.ts';
import type { Failpoints } from '../../../lib/failpoints.ts';
import type { Logger } from '../../../lib/log.ts';
import type { Overrides, Shaping } from '../../../policy/limits/shaping/types.ts';
import type { Warmup } from '../../../policy/limits/warmup/warmup.ts';
import type { Lease, LeaseListener } from '../../queue/leases.ts';
import type { Queue } from '../../queue/queue.ts';
import type { RetrySchedule } from '../../queue/retry-schedule.ts';
import type { DeliverMetrics } from '../deliver-metrics.ts';
import type { Category } from '../outcome/classifier/categories.ts';
import type { Classifier } from '../outcome/classifier/classify.ts';
import type { Finish } from '../outcome/finish.ts';
import type { SenderEffects } from '../outcome/sender-effects.ts';
import type { Preparer } from '../prepare/prepared.ts';
import type { Connector } from '../routing/connector.ts';
import type { SitePath } from '../routing/sites.ts';
import type { TriedHosts } from '../routing/tried-hosts.ts';
import type { AddressConnections, PathAddresses } from './address-connections.ts';
import type { Capacity } from './capacity.ts';
import type { PathDomains } from './domains.ts';
import type { FarEnds } from './far-ends.ts';
import type { Life } from './life.ts';
import type { ConnectionTotal, ProviderGate } from './limits.ts';
import type { Links } from './links.ts';
import type { PathNotes } from './notes.ts';
import type { Picker } from './picker.ts';
import type { SenderLimits } from './sender-limits.ts';
import type { PathState, PathStates } from './states.ts';
import type { PathWarmup } from './warmup.ts';

/** Shared by all paths. */
export interface PathDeps {
  clock: Clock;
  log: Logger;
  metrics: DeliverMetrics;
  failpoints: Failpoints;
  queue: Queue;
  preparer: Preparer;
  finish: Finish;
  retry: RetrySchedule;
  classifier: Pick<Classifier, 'classify'>;
  senderEffects: SenderEffects;
  shaping: Pick<Shaping, 'limitsFor'>;
  overrides: Overrides;
  states: Pick<PathStates, 'of'>;
  farEnds: FarEnds;
  warmup: Warmup;
  total: ConnectionTotal;
  addresses: AddressConnections;
}

/** Specific to one path. */
export interface PathOwn {
  name: string;
  sitePath: SitePath;
  connector: Connector;
  domains: PathDomains;
  /** Shared by the paths of its source to its provider. */
  providerGate: ProviderGate | null;
  /**
   * If several nodes share the source: which one may send, with every change reported to the listener. null: this node
   * may.
   */
  egress(listener: LeaseListener): Lease | null;
  /** This machine cannot open a connection, which is told once for all sites. */
  tellFault(site: string, detail: string): void;
  /** Its site is blocked: in the log, unless the same is told of many. */
  tellBlocked(facts: BlockedFacts, cause: Category): void;
}

/** Of the log line of a blocked site. */
export type BlockedFacts = {
  site: string;
  failures: number;
  /** A time of ISO 8601. */
  until: string;
  reason: string;
};

export interface PathParts extends Omit<PathDeps, 'addresses'>, PathOwn {
  /** The connections to the addresses of its far ends. */
  addresses: PathAddresses;
  route: 'mx' | 'relay';
  state: PathState;
  notes: PathNotes;
  alarm: Alarm;
  /** The prepared messages. */
  ready: Picker;
  /** Hosts that earlier attempts tried without success. */
  tried: TriedHosts;
  links: Links;
  capacity: Capacity;
  warm: PathWarmup;
  senderLimits: SenderLimits;
  life: Life;
}
