/** Causes of failures: their members as rows, and how many are kept and counted. */
import type { CauseMember } from '../../topics/causes.ts';
import { laneCode } from '../codes.ts';
import { record } from '../record.ts';

/** Maximum of causes; above it no new one is created, and its recipients stay without a group. */
export const MAX_CAUSES = 5_000;

/** Approximate number of recipients that one read counts. */
export const MOST_COUNTED = 20_000;

/** Recipients in these states may be sent again together. */
export const RESENT_STATES = ['queued', 'bounced', 'failed'] as const;

export const MEMBER = record<CauseMember>({
  deliveryId: 'plain',
  messageSeq: 'plain',
  domain: 'plain',
  lane: laneCode,
  sandbox: 'flag',
  address: 'plain',
  routeKey: 'plain',
});
