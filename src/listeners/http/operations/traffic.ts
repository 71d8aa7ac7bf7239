/**
 * What the operations about traffic (paths, holds, overrides) read and change. They concern the mail of all tenants:
 * only admin tokens of all domains may call them.
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

export interface Traffic {
  overrides: Pick<OverrideBook, 'list' | 'remove'>;
  holds: Pick<Holds, 'list' | 'add' | 'release'>;
  /** The hold that applies to a queue's mail, or null. */
  heldBy(question: WaitingMail): Hold | null;
  /** Why a sender domain's mail is paused at a site, or null. */
  pausedBy(question: WaitingMail): { reason: string; until: number } | null;
  /** The path of such mail and why it is blocked, null: it is not. */
  blockedFor(question: WaitingMail): { path: string; reason: string; until: number | null } | null;
  /** Ends everything that makes paths (by name) or a relay wait; one message tests them. */
  tryNow: TryNow;
  /** The name of the path of such mail; null: its site is not known yet. */
  pathOf(question: WaitingMail): string | null;
  /** The route of such mail, as the configuration writes it. */
  routeOf(question: WaitingMail & { sandbox: boolean }): string;
  /** Every name of the site of such mail; may ask the DNS. */
  sitesOf(question: WaitingMail): Promise<readonly string[]>;
  paths(): readonly PathRef[];
  /** Why mail in memory is not being sent. */
  waits: MemoryWaits;
  /** Failing relays. */
  relays(): readonly RelayState[];
  limitsFor(query: PathQuery): EffectiveLimits;
  /** Whether the shaping data has a row of this name. */
  isProvider(name: string): boolean;
  /** Looks a recipient domain's provider up; `unclear`: the DNS did not answer. */
  providerOf(recipientDomain: string): Promise<{ provider: string | null } | 'unclear'>;
}

/** Octets of a name: a site, a domain, a provider. */
export const MAX_NAME = 255;
