/**
 * Which times are allowed for sending a message and for giving it up (SendAt and ExpiresAt), for the API and for SMTP.
 * Takes a value from outside and the current time; returns a time or a sentence that says what is wrong.
 */
import { parseInstant } from '../lib/instant.ts';

const DAY = 86_400_000;
/** How far ahead a message may be sent, and how long after that it may be tried. */
const MAX_AHEAD_MS = 30 * DAY;
/** A time at most this far in the past means "now": clocks differ, and requests wait. */
const PAST_SLACK_MS = 5 * 60_000;

const FORM = 'a time as ISO 8601 with an offset, e.g. 2026-11-20T08:00:00Z, or Unix seconds';

/** `at` null = at once. */
export type SendTime = { ok: true; at: number | null } | { ok: false; message: string };
export type ExpiryTime = { ok: true; at: number } | { ok: false; message: string };

/** SendAt. With `digits`, a text of digits counts as Unix seconds (a header has no numbers). */
export function readSendTime(value: unknown, now: number, digits = false): SendTime {
  const at = parseInstant(value, digits);
  if (at === null) return { ok: false, message: `SendAt must be ${FORM}` };
  if (at > now + MAX_AHEAD_MS) return { ok: false, message: 'SendAt may be at most 30 days ahead' };
  if (at < now - PAST_SLACK_MS) return { ok: false, message: 'SendAt is more than 5 minutes in the past' };
  return { ok: true, at: at <= now ? null : at };
}

/** ExpiresAt of a message that is sent at `sendAt` (null = now). */
export function readExpiryTime(
  value: unknown,
  now: number,
  sendAt: number | null,
  digits = false,
): ExpiryTime {
  const at = parseInstant(value, digits);
  if (at === null) return { ok: false, message: `ExpiresAt must be ${FORM}` };
  const start = sendAt ?? now;
  if (at <= start) {
    return { ok: false, message: `ExpiresAt must be later than ${sendAt === null ? 'now' : 'SendAt'}` };
  }
  if (at > start + MAX_AHEAD_MS) {
    return { ok: false, message: 'ExpiresAt may be at most 30 days after the message goes' };
  }
  return { ok: true, at };
}
