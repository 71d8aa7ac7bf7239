/**
 * Reacts when receivers repeatedly say that a sender domain's authentication fails: stores an event for its webhooks,
 * and has the doctor check the domain at once. Delivery counts the replies and pauses the mail
 * (pipeline/deliver/outcome/sender-effects.ts); this part informs people.
 */
import type { Clock } from '../../lib/clock.ts';
import { uuidv7 } from '../../lib/ids.ts';
import type { Logger } from '../../lib/log.ts';
import type { Random } from '../../lib/random.ts';
import type { EventStore } from '../../store/topics/events.ts';
import type { DomainService } from './domains.ts';

export interface AuthAlarm {
  /** `site` refuses mail of `senderDomain` for authentication reasons. Never throws. */
  raise(senderDomain: string, site: string): void;
  /** Resolves when running work has ended; for stopping and tests. */
  settled(): Promise<void>;
}

interface Deps {
  domains: Pick<DomainService, 'verify'>;
  store: Pick<EventStore, 'appendEvents'>;
  clock: Clock;
  random: Random;
  log: Logger;
  /** Called when events were stored: webhook calls may be due. */
  eventsStored(): void;
}

export function createAuthAlarm({ domains, store, clock, random, log, eventsStored }: Deps): AuthAlarm {
  const underWay = new Set<Promise<void>>();
  return {
    raise(senderDomain, site) {
      const work = act(senderDomain, site)
        .catch((err: unknown) =>
          log.warn({ err, domain: senderDomain, site }, 'an alarm could not be stored'),
        )
        .finally(() => underWay.delete(work));
      underWay.add(work);
    },
    async settled() {
      await Promise.all(underWay);
    },
  };

  async function act(senderDomain: string, site: string): Promise<void> {
    const reason =
      `${site} refuses mail of ${senderDomain} because authentication failed (SPF, DKIM or DMARC); ` +
      `mail to it waits for an hour. What to mend: postrider doctor ${senderDomain}`;
    const at = clock.now();
    const event = { id: uuidv7(clock, random), kind: 'domain.failing', at, detail: { reason } } as const;
    await store.appendEvents({ events: [{ ...event, domain: senderDomain, deliveryId: null }] });
    eventsStored();
    await domains.verify(senderDomain).catch((err: unknown) => {
      // Removed meanwhile: nothing to check.
      log.warn({ err, domain: senderDomain }, 'the doctor could not look at a sender domain');
    });
  }
}
