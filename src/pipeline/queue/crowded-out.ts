/**
 * Sites with due mail that found no place in the window because of mail to other sites, and which of them should ask
 * again. All that found the window full ask again when a part of it is free; of the sites of one sender domain that has
 * too much mail in it, only some at a time, because the others would ask in vain.
 */
import type { Promised, ReadyWindow } from './ready-window.ts';

interface CrowdedOut {
  /** Notes the site if the whole window is full for its mail. */
  byAll(site: string, hasCritical: boolean): void;
  /** The sender domain's mail to others takes the places. */
  bySender(site: string, senderDomain: string): void;
  /** The same for large mail. */
  byLarge(site: string, senderDomain: string): void;
  isBySender(site: string): boolean;
  /** Forgets and returns the sites with critical mail, if it has places. */
  takeUrgent(): string[];
  /** Forgets and returns those that found the window full below critical mail, if a tenth of its rows is free. */
  takeOthers(): string[];
  /** Forgets and returns at most so many sites of sender domains that have places. */
  takeOfSenders(most: number): string[];
  clear(): void;
}

/** Sites that found no place are tried again below this share of all rows, or of those of their sender domain. */
const ROOM_AGAIN = 0.9;

export function createCrowdedOut(
  deps: {
    window: Pick<ReadyWindow, 'isFull' | 'rowsOfSender' | 'takesLarge'>;
    /** Places that are promised. */
    taken(): readonly Promised[];
    /** Rows in the window and promised ones. */
    usedRows(): number;
  },
  maxRows: number,
): CrowdedOut {
  const { window, taken, usedRows } = deps;
  /** Those with critical mail. */
  const urgent = new Set<string>();
  const others = new Set<string>();
  const bySender = new Map<string, Set<string>>();
  const byLarge = new Map<string, Set<string>>();

  return {
    byAll(site, hasCritical) {
      if (hasCritical && window.isFull('critical', taken())) urgent.add(site);
      else if (window.isFull('normal', taken())) others.add(site);
    },
    bySender: (site, senderDomain) => note(bySender, site, senderDomain),
    byLarge: (site, senderDomain) => note(byLarge, site, senderDomain),
    isBySender(site) {
      for (const sites of bySender.values()) if (sites.has(site)) return true;
      return false;
    },
    takeUrgent: () => (urgent.size > 0 && !window.isFull('critical', taken()) ? takeAll(urgent) : []),
    takeOthers: () => (others.size > 0 && usedRows() < ROOM_AGAIN * maxRows ? takeAll(others) : []),
    takeOfSenders(most) {
      const found = new Set<string>();
      takeSome(bySender, { found, most }, (senderDomain) => {
        const { more, has } = window.rowsOfSender(senderDomain, taken());
        return more > (1 - ROOM_AGAIN) * has;
      });
      takeSome(byLarge, { found, most }, (senderDomain) => window.takesLarge(senderDomain, taken()));
      return [...found];
    },
    clear() {
      for (const sites of [urgent, others, bySender, byLarge]) sites.clear();
    },
  };
}

function note(out: Map<string, Set<string>>, site: string, senderDomain: string): void {
  const sites = out.get(senderDomain) ?? new Set();
  out.set(senderDomain, sites.add(site));
}

function takeAll(sites: Set<string>): string[] {
  const all = [...sites];
  sites.clear();
  return all;
}

function takeSome(
  out: Map<string, Set<string>>,
  { found, most }: { found: Set<string>; most: number },
  hasPlaces: (senderDomain: string) => boolean,
): void {
  for (const [senderDomain, sites] of out) {
    if (!hasPlaces(senderDomain)) continue;
    for (const site of sites) {
      if (found.size === most) break;
      sites.delete(site);
      found.add(site);
    }
    if (sites.size === 0) out.delete(senderDomain);
  }
}
