/**
 * Builds the returns listener: spool, reader, port. The folder `spool/returns` in the data folder is created at the
 * start.
 */
import { join } from 'node:path';
import type { Certificates } from '../../lib/server-certificates.ts';
import type { Service } from '../../lib/service.ts';
import type { SenderDomains } from '../../pipeline/accept/accept.ts';
import type { Acceptance } from '../../pipeline/accept/acceptance.ts';
import { createReturnedMailReader, type ReturnedMailDeps } from '../../pipeline/events/returned-mail.ts';
import type { ListenAddress } from '../../smtp/server-listener.ts';
import { createReturnsListener, type ReturnsListener } from './listener.ts';
import { createOperatorMail } from './operator-mail.ts';
import { openSpool } from './spool.ts';

export interface ReturnsParts extends ReturnedMailDeps {
  certificates: Certificates;
  acceptance: Pick<Acceptance, 'accept'>;
  senders: SenderDomains;
}

export interface ReturnsPlace {
  listen: ListenAddress;
  hostname: string;
  bounceDomain: string;
  /** Where mail for postmaster and abuse is forwarded; null = it is stored. */
  operatorAddress: string | null;
  /** The data folder. */
  data: string;
}

export interface Returns extends Service {
  /** The real address; null before `start()`. */
  address(): ListenAddress | null;
  /** Why returned mail is not accepted now, or null. */
  refusing(): string | null;
}

/**
 * Nothing listens before `start()`, which rejects if the port is in use or the folder cannot be used. Throws for an
 * invalid operator address.
 */
export function createReturns(parts: ReturnsParts, place: ReturnsPlace): Returns {
  const { store } = parts;
  const own: ReadonlySet<string> = new Set([place.bounceDomain, place.hostname]);
  const operatorMail = createOperatorMail(parts, {
    operatorAddress: place.operatorAddress,
    ownDomains: [place.bounceDomain, place.hostname],
  });
  let running: { listener: ReturnsListener; hasRoom(): boolean } | null = null;

  return {
    async start() {
      const spool = await openSpool(join(place.data, 'spool', 'returns'), parts.clock);
      const listener = createReturnsListener(
        { ...parts, spool, reader: createReturnedMailReader(parts), operatorMail, isOwnDomain },
        { listen: place.listen, hostname: place.hostname },
      );
      await listener.start();
      running = { listener, hasRoom: () => spool.hasRoom() };
    },
    async stop(deadlineMs) {
      await running?.listener.stop(deadlineMs);
    },
    address: () => running?.listener.address() ?? null,
    refusing() {
      if (running === null) return 'the returns listener is not up';
      return running.hasRoom() ? null : 'the spool of returned mail is full';
    },
  };

  /** The bounce domain, this host, or the return-path host of a sender domain. */
  async function isOwnDomain(domain: string): Promise<boolean> {
    if (own.has(domain)) return true;
    return store.isReturnHost({ host: domain });
  }
}
