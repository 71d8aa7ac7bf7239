/** States of paths, holds and warm-ups, as rows. */
import type { StoredHold, StoredHoldTime, StoredPathState } from '../../topics/limits.ts';
import type { WarmupRow } from '../../topics/warmups.ts';
import { laneCode } from '../codes.ts';
import { record } from '../record.ts';

export const PATH_STATE = record<StoredPathState>({
  key: 'plain',
  source: 'plain',
  site: 'plain',
  blockedUntil: 'plain',
  reason: 'plain',
  asked: 'flag',
  fingerprint: 'plain',
  failures: 'plain',
  concurrency: 'plain',
  day: 'plain',
  sent: 'plain',
  sentBefore: 'plain',
  updatedAt: 'plain',
});

/** Except `value`, which each engine stores in its own way. */
export const OVERRIDE_COLUMNS = {
  id: 'plain',
  scope: 'plain',
  key: 'plain',
  param: 'plain',
  rule: 'plain',
  until: 'plain',
  why: 'plain',
  createdAt: 'plain',
} as const;

const HOLD_COLUMNS = {
  id: 'plain',
  senderDomain: 'plain',
  recipientDomain: 'plain',
  site: 'plain',
  lane: laneCode,
  reason: 'plain',
  until: 'plain',
  createdAt: 'plain',
  createdBy: 'plain',
} as const;

/** A hold in force. */
export const HOLD = record<StoredHold>(HOLD_COLUMNS);

/** A hold of any time. */
export const HOLD_TIME = record<StoredHoldTime>({ ...HOLD_COLUMNS, releasedAt: 'plain' });

export const WARMUP = record<WarmupRow>({ source: 'plain', provider: 'plain', state: 'json' });
