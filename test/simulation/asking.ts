/** How simulated worlds give mail to a process, and wait for what they ask of it while their clock goes on. */
import type { VirtualClock } from '../../src/lib/virtual-clock.ts';
import { SUBMISSION_DEFAULTS, type Submission } from '../../src/model/submission.ts';
import type { Action } from './plan.ts';

/** Whatever the store is asked, it has answered by then, where the process lives. */
const ANSWERED_MS = 20_000;
/** Turns in which a store that takes no time has answered. */
const AT_ONCE = 4;

/** The store may take its time, and a process that dies takes its answers with it: then the promise rejects. */
export function createAwaited(clock: VirtualClock): <Result>(doing: Promise<Result>) => Promise<Result> {
  return async (doing) => {
    let done = false;
    const ended = doing.finally(() => {
      done = true;
    });
    ended.catch(() => {});
    const lastMs = clock.monotonicMs() + ANSWERED_MS;
    for (let i = 0; !done && clock.monotonicMs() < lastMs; i++) await clock.advance(i < AT_ONCE ? 0 : 1);
    return done ? ended : Promise.reject(new Error('the process died meanwhile'));
  };
}

/** What is accepted for it at `now`. */
export function submissionOf(mail: Omit<Extract<Action, { kind: 'send' }>, 'kind'>, now: number): Submission {
  const sendAt = mail.sendInMs === null ? null : Math.round(now + mail.sendInMs);
  return {
    ...SUBMISSION_DEFAULTS,
    from: { name: '', address: `news@${mail.tenant}` },
    fromDomain: mail.tenant,
    recipients: mail.recipients.map((address) => ({
      name: '',
      address,
      domain: address.slice(address.indexOf('@') + 1),
      kind: 'To',
    })),
    subject: 'Simulated',
    body: {
      kind: 'text',
      text: 'x'
        .repeat(60)
        .concat('\n')
        .repeat(Math.ceil(mail.octets / 61)),
    },
    sendAt,
    expiresAt: mail.expiresInMs === null ? null : (sendAt ?? now) + mail.expiresInMs,
    lane: mail.lane,
  };
}
