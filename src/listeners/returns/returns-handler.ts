/**
 * The replies of the returns port to one connection: nobody logs in, nothing is relayed, and a recipient is either a
 * valid address of ours or unknown (550 5.1.1), so backscatter costs little. A positive reply to a message is given
 * only after it is on the disk. Nobody ever gets mail as an answer.
 */
import type { Clock } from '../../lib/clock.ts';
import { uuidv7 } from '../../lib/ids.ts';
import type { Logger } from '../../lib/log.ts';
import type { Random } from '../../lib/random.ts';
import { whyNot } from '../../lib/why-not.ts';
import type { ReturnPathTokens } from '../../mail/verp.ts';
import {
  isToken,
  RETURNS_TAKEN_MS,
  type ReturnTarget,
  returnTarget,
} from '../../pipeline/events/return-target.ts';
import type { ReturnMetrics } from '../../pipeline/events/returns-metrics.ts';
import { REPLIES, reply } from '../../smtp/server-reply.ts';
import type { RcptTo, ServerHandler } from '../../smtp/server-types.ts';
import type { Store } from '../../store/store.ts';
import type { NoRoom, Spool } from './spool.ts';

export interface ReturnsHandlerDeps {
  store: Pick<Store, 'returnSubjects' | 'knowsOptOut'>;
  tokens: Pick<ReturnPathTokens, 'parse'>;
  spool: Spool;
  clock: Clock;
  random: Random;
  log: Logger;
  metrics: ReturnMetrics;
  /** Whether `postmaster` and the other names belong to us at this domain, a lower-case A-label. */
  isOwnDomain(domain: string): Promise<boolean>;
  /** A message is in the spool. */
  arrived(id: string): void;
}

const UNKNOWN = reply(550, '5.1.1', 'No such address here');
const NO_ROOM = {
  all: reply(452, '4.3.1', 'No room for more returned mail now; try again later'),
  sender: reply(452, '4.3.1', 'Too much mail of this sender waits here; try again later'),
  delivery: reply(452, '4.3.1', 'A report about this delivery waits already; try again later'),
} satisfies Record<NoRoom, unknown>;

/** Answers for one connection. */
export function createReturnsHandler(deps: ReturnsHandlerDeps, options: { ip: string }): ServerHandler {
  const { store, tokens, spool, clock, random, log, metrics, arrived } = deps;
  let targets: ReturnTarget[] = [];

  return {
    onAuth: async () => reply(502, '5.5.1', 'Nobody logs in here'),
    async onMail() {
      targets = [];
      return refused([]);
    },
    async onRcpt(to, envelope) {
      // The session drops recipients at RSET; so does this.
      if (envelope.recipients.length === 0) targets = [];
      const target = await targetOf(to);
      if (target === null || !(await isKnown(target))) {
        metrics.received('refused');
        return UNKNOWN;
      }
      if (target.kind === 'message') {
        // One report can name a thousand recipients of a message, and no report is about two messages.
        const taken = targets.find((one) => one.kind === 'message');
        if (taken !== undefined)
          return taken.messageSeq === target.messageSeq ? null : REPLIES.tooManyRecipients;
      }
      const full = refused([target]);
      if (full === null) targets.push(target);
      return full;
    },
    async onMessage(envelope, message) {
      // Checked again: others may have used up the space while the message arrived.
      const full = refused(targets);
      if (full !== null) return full;
      const id = uuidv7(clock, random);
      try {
        await spool.put(id, {
          targets,
          from: envelope.from.address?.text ?? null,
          ip: options.ip,
          receivedAt: clock.now(),
          bytes: message.bytes,
        });
      } catch (err) {
        log.error(
          { reason: whyNot(err) },
          'returned mail could not be written to the spool, and was refused',
        );
        return NO_ROOM.all;
      }
      metrics.received('taken');
      arrived(id);
      return reply(250, '2.6.0', `Kept as ${id}`);
    },
    onFailure(error) {
      log.error({ err: error, ip: options.ip }, 'the returns port could not answer');
      return null;
    },
  };

  function refused(of: readonly ReturnTarget[]) {
    const why = spool.refusal({ ip: options.ip, targets: of });
    if (why === null) return null;
    metrics.received('full');
    return NO_ROOM[why];
  }

  async function targetOf({ address }: RcptTo): Promise<ReturnTarget | null> {
    // RFC 5321 §4.5.1: <postmaster> without a domain.
    if (address === null) return { kind: 'operator', name: 'postmaster' };
    const target = returnTarget(address.local, tokens);
    // A token itself proves that we made it, whatever our domain was called then.
    if (target === null || isToken(target)) return target;
    return (await deps.isOwnDomain(address.domain)) ? target : null;
  }

  /**
   * Whether a token's delivery is stored and not too old; unsubscribing works as long as its link, even if the message
   * was deleted. The rejection of an unavailable store becomes 451.
   */
  async function isKnown(target: ReturnTarget): Promise<boolean> {
    if (!isToken(target)) return true;
    if (target.kind === 'unsubscribe') return store.knowsOptOut({ deliveryId: target.deliveryId });
    const [subject] = await store.returnSubjects(
      target.kind === 'message' ? { messageSeq: target.messageSeq } : { deliveryId: target.deliveryId },
    );
    return subject !== undefined && clock.now() - subject.sentAt <= RETURNS_TAKEN_MS;
  }
}
