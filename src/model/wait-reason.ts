/**
 * Why a recipient waits, as its row and the API say it: one of the words below, or the word of a kind, a colon and a
 * sentence; a sentence alone where a retry would come too late (pipeline/queue/retry-schedule.ts); null = none.
 */

/** Longer texts are cut. */
const MAX_CHARS = 512;

/** Its sender asked for a later time. */
export const SCHEDULED = 'scheduled';
/** A reply to this recipient put it off; the timeline has the reply. */
export const DEFERRED = 'deferred';

/** The path to its site is blocked, or was at the last try. */
export function pathReason(sentence: string): string {
  return `path: ${sentence}`.slice(0, MAX_CHARS);
}

/** A hold keeps it back. */
export function heldReason(sentence: string): string {
  return `held: ${sentence}`.slice(0, MAX_CHARS);
}

/** Its sender domain keeps it back: it is not verified, or cannot sign. */
export function domainReason(sentence: string): string {
  return `held by domain: ${sentence}`.slice(0, MAX_CHARS);
}

export function isPathReason(reason: string | null): boolean {
  return reason?.startsWith('path:') ?? false;
}

export function isHeldReason(reason: string | null): boolean {
  return reason?.startsWith('held') ?? false;
}

export function isDomainReason(reason: string): boolean {
  return reason.startsWith('held by domain:');
}

/** The sentence without the word of its kind; a reason that is one word, as it is. */
export function reasonSentence(reason: string): string {
  return reason.replace(/^(?:path|held|held by domain): /, '');
}

/**
 * A result that this server decided itself has no reply code: of `0 5.1.2 the domain … does not exist`, as older versions
 * stored it, only the sentence is shown.
 */
export function withoutNoCode(reply: string): string {
  return reply.replace(/^0 (?:[245]\.\d{1,3}\.\d{1,3} )?/, '');
}

/** The same questions about a row of `delivery`, in SQL. */
export const IS_SCHEDULED = `wait_reason = '${SCHEDULED}'`;
export const IS_DEFERRED = `wait_reason = '${DEFERRED}'`;
export const IS_PATH_REASON = "wait_reason LIKE 'path:%'";
export const IS_HELD_REASON = "wait_reason LIKE 'held%'";

/** The sentence for the dashboard, which has a page of the domain where a terminal has a command, behind a semicolon. */
export function dashboardSentence(reason: string): string {
  const sentence = reasonSentence(reason);
  const command = isDomainReason(reason) ? sentence.search(/; [^;]*postrider /) : -1;
  return command === -1 ? sentence : sentence.slice(0, command);
}
