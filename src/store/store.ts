/**
 * The store: whole atomic operations with an invariant each, never a transaction handed outward.
 *
 * Promises every engine keeps (checked by `conformance/`):
 * - a resolved write is committed; writes marked *synced*, and all that create or change webhooks, domains, tokens,
 *   keys, epochs, have also reached the disk;
 * - everything one call changes becomes visible together or not at all;
 * - time and ids come in as parameters: a store is deterministic;
 * - a state change and its events, and the webhook calls these cause, are one transaction (the outbox);
 * - settling a delivery or call does nothing unless the caller's lease (epoch) still holds it; an epoch that has ended
 *   claims nothing more;
 * - a write that carries ids of its own (messages, outcomes, events, tokens …) may be repeated if its answer was lost: it
 *   is stored once, with the values of the first call, and the answer is the same;
 * - a list that is read in looks says where the next one begins; a full look does so also when nothing follows it.
 * When the engine cannot write (disk full, gone) calls reject with `StoreUnavailable` and `writable()` turns false
 * until a later write or probe succeeds. All instants are milliseconds since the Unix epoch.
 * The operations are in `topics/`, by topic.
 */
import type { AcceptanceStore, KeyHeld } from './topics/acceptance.ts';
import type { AlertStore } from './topics/alerts.ts';
import type { AuditStore } from './topics/audit.ts';
import type { CaptureStore } from './topics/captures.ts';
import type { CauseStore } from './topics/causes.ts';
import type { DmarcReportStore } from './topics/dmarc-reports.ts';
import type { DomainStore } from './topics/domains.ts';
import type { ErasingStore } from './topics/erasing.ts';
import type { EventStore } from './topics/events.ts';
import type { HintStore } from './topics/hints.ts';
import type { InstanceStore } from './topics/instance.ts';
import type { LimitStore } from './topics/limits.ts';
import type { MessageStore } from './topics/messages.ts';
import type { NodeStore } from './topics/nodes.ts';
import type { NoticeStore } from './topics/notices.ts';
import type { PeopleStore } from './topics/people.ts';
import type { QueueStore } from './topics/queue.ts';
import type { ReaderStore } from './topics/readers.ts';
import type { RetentionStore } from './topics/retention.ts';
import type { ReturnStore } from './topics/returns.ts';
import type { SandboxRuleStore } from './topics/sandbox-rules.ts';
import type { StatsStore } from './topics/stats.ts';
import type { SuppressionStore } from './topics/suppressions.ts';
import type { TemplateStore } from './topics/templates.ts';
import type { TlsStore } from './topics/tls.ts';
import type { CredentialStore } from './topics/tokens.ts';
import type { WarmupStore } from './topics/warmups.ts';
import type { WebhookStore } from './topics/webhooks.ts';

/** The engine cannot work now; the caller may try again later. */
export class StoreUnavailable extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'StoreUnavailable';
  }
}

/** The idempotency key of a creation is taken; nothing was created. */
export class KeyTaken extends Error {
  readonly held: KeyHeld;

  constructor(held: KeyHeld) {
    super('The idempotency key is taken');
    this.name = 'KeyTaken';
    this.held = held;
  }
}

export interface Store
  extends InstanceStore,
    HintStore,
    NodeStore,
    AcceptanceStore,
    QueueStore,
    SuppressionStore,
    EventStore,
    StatsStore,
    ReturnStore,
    NoticeStore,
    WebhookStore,
    DomainStore,
    DmarcReportStore,
    CredentialStore,
    PeopleStore,
    AuditStore,
    AlertStore,
    TemplateStore,
    MessageStore,
    RetentionStore,
    ErasingStore,
    CaptureStore,
    SandboxRuleStore,
    CauseStore,
    LimitStore,
    WarmupStore,
    TlsStore,
    ReaderStore {
  /**
   * Whether the last write or probe succeeded, no answer of a write was lost, and reads of the last minute did not all fail
   * because of what is stored; `reason` says what is wrong. `failing`: why mail or outcomes could not be stored the last time,
   * which is worth another try. `damage`: what is wrong with a part of the database, whose rest works. `loss`: what it lacks.
   */
  writable(): { ok: true; failing?: string; damage?: string; loss?: string } | { ok: false; reason: string };
  close(): Promise<void>;
}

/** Gets the log lines of a store. */
export type StoreLog = (
  level: 'info' | 'warn' | 'error',
  message: string,
  fields: Readonly<Record<string, string | number | boolean>>,
) => void;
