/**
 * What the operations about traffic (paths, holds, overrides) look at and change. They concern everybody's mail: only
 * admin tokens of all domains may call them.
 */
import type { Lane } from '../../../model/message.ts';
import type { MemoryWaits } from '../../../pipeline/deliver/memory-waits.ts';
import type { PathRef } from '../../../pipeline/deliver/path/state.ts';
import type { RelayState } from '../../../pipeline/deliver/routing/relay-health.ts';
import type { TryNow } from '../../../pipeline/deliver/try-now.ts';
import type { Hold, Holds } from '../../../policy/limits/holds.ts';
import type { OverrideBook } from '../../../policy/limits/shaping/overrides.ts';
import type { EffectiveLimits, PathQuery } from '../../../policy/limits/shaping/types.ts';

/** Mail of one queue. */
export interface WaitingMail {
  senderDomain: string;
  recipientDomain: string;
  lane: Lane;
  routeKey: string;
}

/** What these operations look at and change. */
export interface Traffic {
  overrides: Pick<OverrideBook, 'list' | 'remove'>;
  holds: Pick<Holds, 'list' | 'add' | 'release'>;
  /** The hold that keeps a queue's mail back, or null. */
  heldBy(question: WaitingMail): Hold | null;
  /** Why a sender domain's mail may not go to a site for a time, or null. */
  pausedBy(question: WaitingMail): { reason: string; until: number } | null;
  /** The path of such mail and why it is closed, null: it is open. */
  closedFor(question: WaitingMail): { path: string; reason: string; until: number | null } | null;
  /** Whatever keeps paths (by name) or a relay waiting ends, and one message finds out. */
  tryNow: TryNow;
  /** The way that mail goes, as the configuration writes it. */
  routeOf(question: WaitingMail & { sandbox: boolean }): string;
  /** Every name that the site of such mail goes by; may ask DNS. */
  sitesOf(question: WaitingMail): Promise<readonly string[]>;
  paths(): readonly PathRef[];
  /** Why mail in memory is not being sent. */
  waits: MemoryWaits;
  /** Relays that failed last. */
  relays(): readonly RelayState[];
  limitsFor(query: PathQuery): EffectiveLimits;
  /** Whether the shaping data has a row of that name. */
  isProvider(name: string): boolean;
  /** Looks a recipient domain's provider up. */
  providerOf(recipientDomain: string): Promise<string | null>;
}

/** Octets of a name: a site, a domain, a provider. */
export const MAX_NAME = 255;
