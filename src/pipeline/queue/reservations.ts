/**
 * Room in the window for messages that are being committed. Says which of their recipients fit, so that their rows are
 * inserted as leased, and counts them until they arrive or the commit has failed. Fresh mail may neither overtake due rows
 * of its own queue nor keep the window so full that due rows are never claimed.
 */
import type { Clock } from '../../lib/clock.ts';
import type { createClaims } from './claims.ts';
import type { createDueQueues } from './due-queues.ts';
import type { SiteQuestion } from './gate.ts';
import type { Reservation } from './queue.ts';
import { createPromises, type createReadyWindow, LARGE_ROW_BYTES } from './ready-window.ts';

export function createReservations(deps: {
  clock: Clock;
  window: Pick<ReturnType<typeof createReadyWindow>, 'hasRoom'>;
  due: Pick<ReturnType<typeof createDueQueues>, 'count' | 'has'>;
  claims(): Pick<ReturnType<typeof createClaims>, 'isLow' | 'promised'>;
  siteOf(question: SiteQuestion): string;
  /** Whether a recipient may be sent now. */
  isOpen(recipient: SiteQuestion, site: string): boolean;
  /** The rows that a site should hold. */
  allowance(site: string): number;
}) {
  const { clock, window, due, siteOf, allowance } = deps;
  const reserved = createPromises();
  /** The oldest first. */
  const reservations = new Set<Reservation>();

  return {
    reserved,
    /** Since when the oldest message is being committed; undefined = there is none. */
    sinceMs(): number | undefined {
      const [first] = reservations;
      return first?.sinceMs;
    },

    reserve(recipients: readonly SiteQuestion[], bytes: number): Reservation {
      const share = Math.ceil(bytes / Math.max(1, recipients.length));
      let rows = 0;
      const sites = recipients.map((recipient) => {
        const site = siteOf(recipient);
        if (!fits(recipient, site, share)) return null;
        rows += 1;
        reserved.add({ ...recipient, site }, 1, share, share > LARGE_ROW_BYTES);
        return site;
      });
      const { lane = 'normal', senderDomain = '' } = recipients[0] ?? {};
      const reservation = {
        sites,
        lane,
        senderDomain,
        rows,
        bytes: rows * share,
        sinceMs: clock.monotonicMs(),
      };
      if (rows > 0) reservations.add(reservation);
      return reservation;
    },

    unreserve(reservation: Reservation): void {
      const { sites, lane, senderDomain, rows, bytes } = reservation;
      reservations.delete(reservation);
      const share = bytes / rows;
      for (const site of sites)
        if (site !== null) reserved.add({ site, lane, senderDomain }, -1, -share, share > LARGE_ROW_BYTES);
    },
  };

  function fits(recipient: SiteQuestion, site: string, bytes: number): boolean {
    if (!deps.isOpen(recipient, site)) return false;
    const claims = deps.claims();
    // Rows of the same queue in the store would always be overtaken; fresh mail goes to its end.
    const { lane, senderDomain } = recipient;
    if (lane !== 'critical' && due.count(site) > 0) {
      // If fresh mail kept the window full, due rows would never be claimed.
      if (!claims.isLow(site) || due.has({ ...recipient, sandbox: recipient.sandbox !== null })) return false;
    }
    const place = { site, lane, senderDomain, siteRows: allowance(site) };
    return window.hasRoom(place, [reserved, claims.promised], bytes);
  }
}
