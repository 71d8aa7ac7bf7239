/**
 * Rotating DKIM keys without a gap: signing moves to the standby key, which has been published since
 * it was made; the old one stays published for a week, so that mail under way can be verified; then a new standby takes
 * its place, under a selector that was never used before, because receivers remember keys by selector.
 *
 *   standby ──rotate──► active ──rotate──► retired ──7 days──► gone, replaced by a new standby
 *
 * Pure: who may rotate now, and what the next selector is called.
 */
import type { Domain } from '../../model/domain.ts';
import { dkimHost } from './dns-records.ts';
import type { DomainCheck } from './doctor/check.ts';

const DAY_MS = 24 * 3_600_000;
/** How long a retired key stays published. */
export const RETIRED_FOR_MS = 7 * DAY_MS;
/** A look-up older than this proves nothing about the standby key any more. */
const PROOF_MS = 3_600_000;

export type RotationVerdict =
  | { kind: 'ready'; selector: string }
  /** The look-up is too old: look again. */
  | { kind: 'unseen' }
  | { kind: 'refused'; why: string };

/** Whether signing may move to the standby key, by the checks that are stored with the domain. */
export function mayRotate(domain: Domain, now: number): RotationVerdict {
  const standby = domain.keys.find((key) => key.role === 'standby');
  if (standby === undefined) return { kind: 'refused', why: noStandby(domain) };
  if (domain.lastCheckedAt === null || now - domain.lastCheckedAt > PROOF_MS || domain.lastChecks === null) {
    return { kind: 'unseen' };
  }
  const host = dkimHost(standby.selector, domain.name);
  const checks = JSON.parse(domain.lastChecks) as DomainCheck[];
  const check = checks.find(({ record }) => record.name === host);
  if (check === undefined) return { kind: 'unseen' };
  if (check.severity === 'ok') return { kind: 'ready', selector: standby.selector };
  const sentences = [check.message, check.fix].filter((text) => text !== '').join(' ');
  return { kind: 'refused', why: `The standby key is not ready. ${sentences}` };
}

function noStandby(domain: Domain): string {
  const retiredAt = Math.max(...domain.keys.map((key) => key.retiredAt ?? 0));
  if (retiredAt === 0) return 'The domain has no standby key.';
  const from = new Date(retiredAt + RETIRED_FOR_MS).toISOString().slice(0, 10);
  return `The key was rotated a short while ago: the next standby key is made on ${from}.`;
}

/** A retired key whose week is over, and no standby: time for a new one. */
export function needsNewStandby(domain: Domain, now: number): boolean {
  return (
    domain.keys.every((key) => key.role !== 'standby') &&
    domain.keys.some((key) => key.retiredAt !== null && key.retiredAt <= now - RETIRED_FOR_MS)
  );
}

/** The first number behind `prefix` that is above those of all present keys, which are always the newest. */
export function nextSelector(domain: Domain, prefix: string): string {
  const numbers = domain.keys.map(({ selector }) =>
    selector.startsWith(prefix) && /^\d{1,9}$/.test(selector.slice(prefix.length))
      ? Number(selector.slice(prefix.length))
      : 0,
  );
  return `${prefix}${Math.max(0, ...numbers) + 1}`;
}
