/**
 * Receivers that say authentication failed (delivery.md §7.2): three such replies of one receiver about one sender domain
 * within ten minutes, and the doctor looks at the domain at once, and its mail to that receiver waits for an hour,
 * because each further refusal costs reputation. What leaves a trace: a hold with its reason, an event, a log line.
 * Given: replies one by one. In memory only; after a restart counting begins anew, holds stay.
 */
import type { Clock } from '../../lib/clock.ts';
import { uuidv7 } from '../../lib/ids.ts';
import type { Logger } from '../../lib/log.ts';
import type { Random } from '../../lib/random.ts';
import type { EventStore } from '../../store/topics/events.ts';
import type { StoredHold } from '../../store/topics/limits.ts';
import type { DomainService } from './domains.ts';

export interface AuthFailures {
  /** A receiver refused mail of `senderDomain` for its authentication. `site`: what holds call the receiver. */
  note(failure: { senderDomain: string; site: string }): void;
  /** Resolves when what was begun has ended; for stopping and tests. */
  settled(): Promise<void>;
}

interface Deps {
  domains: Pick<DomainService, 'verify'>;
  holds: {
    list(): readonly StoredHold[];
    add(hold: Omit<StoredHold, 'id' | 'createdAt'>): Promise<StoredHold>;
  };
  store: Pick<EventStore, 'appendEvents'>;
  clock: Clock;
  random: Random;
  log: Logger;
  /** Events were stored: webhook calls may be due. */
  eventsStored(): void;
}

const REPLIES = 3;
const WITHIN_MS = 10 * 60_000;
const HELD_MS = 3_600_000;
const MAX_WATCHED = 10_000;
/** Who its holds say they are by. */
export const HELD_BY_DOCTOR = 'doctor';

export function createAuthFailures(deps: Deps): AuthFailures {
  const { domains, holds, store, clock, random, log } = deps;
  /** Instants of the last replies, by sender domain and receiver; those noted longest ago are forgotten first. */
  const seen = new Map<string, readonly number[]>();
  const underWay = new Set<Promise<void>>();

  return {
    note({ senderDomain, site }) {
      const key = `${senderDomain}@${site}`;
      const now = clock.now();
      const times = [...(seen.get(key) ?? []).filter((at) => now - at < WITHIN_MS), now];
      seen.delete(key);
      if (times.length < REPLIES) {
        seen.set(key, times);
        const [oldest] = seen.keys();
        if (seen.size > MAX_WATCHED && oldest !== undefined) seen.delete(oldest);
        return;
      }
      const work = act(senderDomain, site)
        .catch((err: unknown) => log.warn({ err, domain: senderDomain, site }, 'mail could not be held'))
        .finally(() => underWay.delete(work));
      underWay.add(work);
    },
    async settled() {
      await Promise.all(underWay);
    },
  };

  async function act(senderDomain: string, site: string): Promise<void> {
    const isHeld = holds
      .list()
      .some(
        (hold) =>
          hold.createdBy === HELD_BY_DOCTOR && hold.senderDomain === senderDomain && hold.site === site,
      );
    // What was under way when the hold came is refused too, and says nothing new.
    if (isHeld) return;
    const reason =
      `${site} refused mail of ${senderDomain} ${REPLIES} times within 10 minutes because authentication failed ` +
      `(SPF, DKIM or DMARC); mail to it waits for an hour. What to mend: postrider doctor ${senderDomain}`;
    const match = { senderDomain, recipientDomain: null, site, lane: null };
    const now = clock.now();
    await holds.add({ ...match, reason, until: now + HELD_MS, createdBy: HELD_BY_DOCTOR });
    log.error({ domain: senderDomain, site }, 'mail of a sender domain is held: its authentication fails');
    const event = { id: uuidv7(clock, random), kind: 'domain.failing', at: now, detail: { reason } } as const;
    await store.appendEvents({ events: [{ ...event, domain: senderDomain, deliveryId: null }] });
    deps.eventsStored();
    await domains.verify(senderDomain).catch((err: unknown) => {
      // Removed meanwhile: nothing to look at.
      log.warn({ err, domain: senderDomain }, 'the doctor could not look at a sender domain');
    });
  }
}
