/** When the messages of a plan are submitted, in order of time, reduced to a sample. */
import type { PlannedMail, SimulationPlan } from './plan/plan.ts';

export interface Arrival {
  atMs: number;
  mail: PlannedMail;
  /** Recipients of the message. */
  count: number;
  /** Number of the message among those of this mail, from 0. */
  n: number;
}

const DAY_MS = 86_400_000;
/** Largest number of recipients of one message of bulk mail. */
const MOST_TOGETHER = 50;
/**
 * Mail with this many recipients a day or more is submitted in at least this many messages, so that it is spread
 * evenly.
 */
const LEAST_MESSAGES = 200;

/** `weight`: one recipient in this many is submitted, and at least one a day of each kind of mail. */
export function* arrivalsOf(plan: SimulationPlan, weight: number): Generator<Arrival> {
  for (let day = 1; day <= plan.days; day++) {
    const today = plan.mail
      .filter(({ days }) => days === null || days.includes(day))
      .map((mail) => ({ next: 0, ...portions(mail, weight), mail }));
    for (;;) {
      let first = null as (typeof today)[number] | null;
      let firstAtMs = Number.POSITIVE_INFINITY;
      for (const one of today) {
        if (one.next >= one.messages) continue;
        const atMs = timeOf(one.mail, one.next, one.messages);
        if (atMs < firstAtMs) [first, firstAtMs] = [one, atMs];
      }
      if (first === null) break;
      const { next, messages, recipients, mail } = first;
      const count = share(recipients, messages, next);
      yield { atMs: (day - 1) * DAY_MS + firstAtMs, mail, count, n: (day - 1) * messages + next };
      first.next += 1;
    }
  }
}

function portions(mail: PlannedMail, weight: number): { recipients: number; messages: number } {
  const recipients = Math.max(1, Math.round(mail.recipients / weight));
  const together = Math.max(1, Math.min(MOST_TOGETHER, Math.floor(recipients / LEAST_MESSAGES)));
  const messages = mail.lane === 'bulk' ? Math.ceil(recipients / together) : recipients;
  return { recipients, messages };
}

function timeOf({ fromMs, untilMs }: PlannedMail, i: number, messages: number): number {
  return fromMs + ((untilMs - fromMs) * (i + 0.5)) / messages;
}

/** The share of part `i` if `total` is divided into this many whole numbers. */
function share(total: number, parts: number, i: number): number {
  return Math.floor(((i + 1) * total) / parts) - Math.floor((i * total) / parts);
}
