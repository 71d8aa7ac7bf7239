/** What waits and why, as the queue asks for it: one function an operation. */
import type {
  Cause,
  CausesAnswer,
  Hold,
  HoldQueueRequest,
  HoldsAnswer,
  QueueAnswer,
  ReleaseAnswer,
  ResendAnswer,
  Site,
  TryAnswer,
} from '../../src/client/api-types.ts';
import { call, open, pageReader, part, queuedBy } from './call.ts';

export function getQueue(signal?: AbortSignal): Promise<QueueAnswer> {
  return call('GET', '/queue', { signal });
}

export function getSite(site: string, signal?: AbortSignal): Promise<Site> {
  return call('GET', `/queue/paths/${part(site)}`, { signal });
}

export function trySite(site: string): Promise<TryAnswer> {
  return call('POST', `/queue/paths/${part(site)}/try`);
}

/** Oldest first; the first hundred. */
export function listHolds(signal?: AbortSignal): Promise<HoldsAnswer> {
  return call('GET', '/queue/holds', { query: { Limit: 100 }, signal });
}

export function holdMail(hold: HoldQueueRequest): Promise<Hold> {
  return call('POST', '/queue/hold', { body: hold });
}

export function releaseHold(id: string, leaving = false): Promise<ReleaseAnswer> {
  return call('POST', '/queue/release', { body: { HoldID: id }, keepalive: leaving });
}

export async function liftOverride(id: string, leaving = false): Promise<void> {
  await open('DELETE', `/overrides/${part(id)}`, { keepalive: leaving });
}

export const listCauses = pageReader<CausesAnswer>('/causes', 50);

/** Everything that failed for one cause, a portion after the other; told how many were queued so far. */
export function resendAll({ CauseID }: Cause, onQueued: (count: number) => void): Promise<number> {
  return queuedBy(
    (After) => call<ResendAnswer>('POST', `/causes/${CauseID}/resend`, { query: { After } }),
    onQueued,
  );
}
