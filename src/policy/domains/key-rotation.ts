/**
 * Rotating DKIM keys without a gap: signing changes to the standby key, which has been published since it was created;
 * the old key stays published for a week, so that mail on its way can be verified; then a new standby key replaces it,
 * under a new selector, because receivers cache keys by selector.
 *
 *   standby ──rotate──► active ──rotate──► retired ──7 days──► replaced by a new standby
 *
 * Decides when a rotation is possible, and the next selector.
 */

import { dayOf } from '../../lib/instant.ts';
import type { Domain } from '../../model/domain.ts';
import { dkimHost } from './dns-records.ts';
import type { DomainCheck } from './doctor/check.ts';

const DAY_MS = 24 * 3_600_000;
/** How long a retired key stays published. */
export const RETIRED_FOR_MS = 7 * DAY_MS;
/** An older look-up no longer proves that the standby key is published. */
const PROOF_MS = 3_600_000;

export type RotationVerdict =
  | { kind: 'ready'; selector: string }
  /** The look-up is too old: look again. */
  | { kind: 'unseen' }
  | { kind: 'refused'; why: string };

/** Whether signing may change to the standby key, by the checks stored with the domain. */
export function mayRotate(domain: Domain, now: number): RotationVerdict {
  const standby = domain.keys.find((key) => key.role === 'standby');
  if (standby === undefined) return { kind: 'refused', why: noStandby(domain) };
  const { lastCheckedAt, lastChecks } = domain;
  // One in the future was made while the clock was ahead.
  const isRecent = lastCheckedAt !== null && lastCheckedAt <= now && now - lastCheckedAt <= PROOF_MS;
  if (!isRecent || lastChecks === null) return { kind: 'unseen' };
  const host = dkimHost(standby.selector, domain.name);
  const checks = JSON.parse(lastChecks) as DomainCheck[];
  const check = checks.find(({ record }) => record.name === host);
  if (check === undefined) return { kind: 'unseen' };
  if (check.severity === 'ok') return { kind: 'ready', selector: standby.selector };
  const sentences = [check.message, check.fix].filter((text) => text !== '').join(' ');
  return { kind: 'refused', why: `The standby key is not ready. ${sentences}` };
}

function noStandby(domain: Domain): string {
  const retiredAt = Math.max(...domain.keys.map((key) => key.retiredAt ?? 0));
  if (retiredAt === 0) return 'The domain has no standby key.';
  const from = dayOf(retiredAt + RETIRED_FOR_MS);
  return `The key was rotated a short while ago: the next standby key is made on ${from}.`;
}

/** A retired key whose week is over, and no standby key: time for a new one. */
export function needsNewStandby(domain: Domain, now: number): boolean {
  return (
    domain.keys.every((key) => key.role !== 'standby') &&
    domain.keys.some((key) => key.retiredAt !== null && key.retiredAt <= now - RETIRED_FOR_MS)
  );
}

/** The number of the newest key, which is always among the current ones, and one more. */
export function nextSelector({ keys }: Domain): string {
  const prefixes = keys.map(({ selector }) => selector.replace(/\d{1,9}$/, ''));
  const numbers = keys.map(({ selector }, i) => Number(selector.slice(prefixes[i]?.length)));
  return `${prefixes[0] ?? ''}${Math.max(0, ...numbers) + 1}`;
}
