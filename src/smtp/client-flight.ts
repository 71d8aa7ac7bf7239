/**
 * Transactions in flight on one connection: each is one write (RSET, MAIL, RCPT, and BDAT with the whole message; RFC
 * 3030, RFC 2920), and several may be unanswered. Replies come in the order of the commands; each transaction awaits
 *   rset → mail → rcpt (one per recipient) → dot (the reply to BDAT) → finished
 * A refused command changes nothing for the others: the server answers the rest of its transaction with 503, discards
 * the octets of BDAT, and the next RSET ends what it keeps of it.
 *
 * A reply must never be charged to another message. RSET is refused by no server, and the reply that accepts a message
 * has other words than those to RSET, MAIL and RCPT, which the first message of the connection shows while it is alone.
 * So one reply too few or too many is noticed within the next transaction, before a wrong result is given. The connection is
 * closed then, and every unanswered message whose octets were sent may have been delivered.
 *
 * A server that reads the octets of a refused BDAT as commands would take orders from the content of mail. So before
 * the first message it is shown a BDAT that it has to refuse, with a line that no server knows as a command: a server
 * that answers that line gets nothing else by BDAT.
 */
import type { Channel, ChannelClose } from './client-channel.ts';
import type { SessionClose, Timeouts } from './client-types.ts';
import { type Awaiting, decideRest, type Work } from './client-work.ts';
import type { Reply } from './reply.ts';

export interface Flight {
  /** Messages that are not answered. */
  size(): number;
  /** The one whose reply comes next. */
  head(): Work | null;
  /** Whether one more may be sent, so that at most `most` are unanswered. */
  mayTake(most: number): boolean;
  send(work: Work): void;
  onReply(reply: Reply): void;
  onClose(close: ChannelClose): void;
}

interface Parts {
  channel: Channel;
  timeouts: Timeouts;
  /** Another message is waited for from now on. */
  waits(): void;
  /** It has its reply and is no longer in flight. */
  finished(work: Work, accepted: boolean): void;
  /** `behind`: the reply to another message was awaited. */
  lost(work: Work, close: SessionClose, behind: boolean): void;
  /** This server gets no messages in flight from now on. */
  outOfStep(why: string): void;
  /** Whether the server is known to discard the octets of a refused BDAT. */
  isProven(): boolean;
  /** It has shown that. */
  proven(): void;
}

/** The marks of its positive replies; `end` accepts a message. */
type Marks = Record<'rset' | 'mail' | 'rcpt' | 'end', string>;

/** A server that does not read gets no more: what was not sent can still go elsewhere. */
const MOST_UNSENT = 192 * 1024;
/** A server that says 421 closes the connection at once, or goes on and answers the commands behind it. */
const AFTER_421_MS = 10_000;
/** To BDAT with a recipient that was accepted: it is about the command. */
const NO_BDAT: ReadonlySet<number> = new Set([500, 501, 502, 503, 504, 555]);
const MARKED_WORDS = 5;
/** No command of any server, so it is answered with 5yz where it is read as one. */
const PROBE = 'XDISCARD\r\n';
/** Positive, refused, positive. */
const PROOF = `RSET\r\nBDAT ${PROBE.length} LAST\r\n${PROBE}RSET\r\n`;
const PROOF_REPLIES = ['RSET', 'BDAT without a recipient', 'RSET behind it'] as const;

export function createFlight(parts: Parts): Flight {
  const { channel, timeouts } = parts;
  const works: Work[] = [];
  const shown: Partial<Marks> = {};
  let marks: Marks | null = null;
  /** It came while others were behind it: whether the server has ended the session is seen by what follows. */
  let ending: Reply | null = null;
  /** Replies to `PROOF` that came; null: it does not run. The message that waits for it is the only one. */
  let proof: number | null = null;

  return {
    size: () => works.length,
    head: () => works[0] ?? null,
    mayTake(most) {
      if (works.length === 0) return true;
      return works.length < most && marks !== null && ending === null && channel.unsent() < MOST_UNSENT;
    },
    send(work) {
      works.push(work);
      if (works.length > 1 || parts.isProven()) write(work);
      else prove(work);
    },
    onReply,
    onClose,
  };

  function prove(work: Work): void {
    proof = 0;
    channel.write(PROOF);
    work.log.add(channel.nowMs(), PROOF);
    channel.expectWithin(timeouts.mailMs, 'the replies to RSET and BDAT');
  }

  function onProofReply(work: Work, reply: Reply, at: number): void {
    const command = PROOF_REPLIES[at] ?? '';
    if (at === 1 ? !isRefusal(reply) : !isPositive(reply)) channel.closeUnexpected(reply, command);
    else if (at + 1 < PROOF_REPLIES.length) proof = at + 1;
    else {
      proof = null;
      parts.proven();
      if (work.tx.mayGo?.() !== false) write(work);
      else {
        works.shift();
        channel.expectNothing();
        parts.lost(work, { reason: 'local', detail: 'it is not to go any more', reply: null }, true);
      }
    }
  }

  function write(work: Work): void {
    const commands = `RSET\r\n${work.mail}${work.rcpts.join('')}BDAT ${work.tx.size} LAST\r\n`;
    work.sent = true;
    work.dotHanded = true;
    // Writes that wait for an earlier one are joined.
    work.dotHasCompany = channel.unsent() > 0;
    channel.writeParts([Buffer.from(commands), ...work.tx.data], '', () => {
      work.flushed = true;
      work.tx.onDataSent?.();
    });
    work.startedMs = channel.nowMs();
    work.log.add(work.startedMs, commands);
    work.log.add(work.startedMs, work.tx.size);
    work.awaiting = 'rset';
    if (works.length === 1) first(work);
  }

  function first(work: Work): void {
    waitFor(work, 'rset');
    parts.waits();
  }

  function waitFor(work: Work, what: Awaiting): void {
    work.awaiting = what;
    if (what === 'dot') channel.expectWithin(timeouts.dotMs, 'the reply to BDAT');
    else if (what === 'rcpt') channel.expectWithin(timeouts.rcptMs, 'the reply to RCPT');
    // The octets of the messages ahead may still be on their way when a message becomes the first.
    else channel.expectWithin(timeouts.mailMs, `the reply to ${what.toUpperCase()}`);
  }

  function onReply(reply: Reply): void {
    if (ending !== null) {
      // It goes on, so that was an answer to one command.
      const earlier = ending;
      ending = null;
      answer(earlier);
      if (channel.closed() !== null) return;
    }
    const [work] = works;
    if (work === undefined) {
      parts.outOfStep(`a reply more than commands: ${reply.code}`);
      channel.closeUnexpected(reply, 'nothing');
      return;
    }
    work.log.add(channel.nowMs(), reply);
    if (proof !== null && reply.code !== 421) onProofReply(work, reply, proof);
    else if (reply.code !== 421) answer(reply);
    else if (works.length === 1) channel.close('421', 'the server ended the session', reply);
    else {
      ending = reply;
      channel.expectWithin(AFTER_421_MS, 'the end of the session after 421');
    }
  }

  function answer(reply: Reply): void {
    const [work] = works;
    if (work === undefined) return;
    switch (work.awaiting) {
      case 'rset':
        if (!isPositive(reply) || isAcceptance(reply)) channel.closeUnexpected(reply, 'RSET');
        else {
          shown.rset ??= markOf(reply);
          waitFor(work, 'mail');
        }
        return;
      case 'mail':
        onMailReply(work, reply);
        return;
      case 'rcpt':
        onRcptReply(work, reply);
        return;
      default:
        onEndReply(work, reply);
    }
  }

  function onMailReply(work: Work, reply: Reply): void {
    if (isRefusal(reply)) decideRest(work, reply, 'mail', false);
    else if (isPositive(reply) && !isAcceptance(reply)) shown.mail ??= markOf(reply);
    else {
      channel.closeUnexpected(reply, 'MAIL');
      return;
    }
    waitFor(work, 'rcpt');
  }

  function onRcptReply(work: Work, reply: Reply): void {
    const at = work.rcptNo;
    // MAIL was refused: nothing may be accepted any more.
    const refused = work.results[at] !== null;
    if (isRefusal(reply)) {
      if (!refused) work.results[at] = { reply, stage: 'rcpt', accepted: false };
    } else if (!refused && isPositive(reply) && !isAcceptance(reply)) {
      work.accepted += 1;
      shown.rcpt ??= markOf(reply);
    } else {
      channel.closeUnexpected(reply, 'RCPT');
      return;
    }
    work.rcptNo += 1;
    waitFor(work, work.rcptNo < work.rcpts.length ? 'rcpt' : 'dot');
  }

  /** To BDAT, when its octets are in. */
  function onEndReply(work: Work, reply: Reply): void {
    const accepted = isPositive(reply);
    if (work.accepted === 0 ? !isRefusal(reply) : accepted ? !isOwnAcceptance(reply) : !isRefusal(reply)) {
      channel.closeUnexpected(reply, 'BDAT');
      return;
    }
    if (work.accepted > 0) {
      if (NO_BDAT.has(reply.code)) {
        refusesBdat(work, reply);
        return;
      }
      work.dot = reply;
      decideRest(work, reply, 'dot', accepted);
    }
    finish(work, accepted);
  }

  function finish(work: Work, accepted: boolean): void {
    works.shift();
    const [next] = works;
    if (next === undefined) channel.expectNothing();
    else first(next);
    parts.finished(work, accepted);
  }

  /** Whether it has not the words of another reply. The first acceptance on the connection shows the words. */
  function isOwnAcceptance(reply: Reply): boolean {
    const end = markOf(reply);
    if (marks !== null) return end !== marks.rset && end !== marks.mail && end !== marks.rcpt;
    const { rset = '', mail = '', rcpt = '' } = shown;
    if (end === rset || end === mail || end === rcpt) parts.outOfStep('its replies cannot be told apart');
    else marks = { rset, mail, rcpt, end };
    return true;
  }

  /** As the server accepts a message. */
  function isAcceptance(reply: Reply): boolean {
    return marks !== null && markOf(reply) === marks.end;
  }

  /** It offers BDAT and refuses it, so the octets of the message may be read as commands. */
  function refusesBdat(work: Work, reply: Reply): void {
    parts.outOfStep(`it refuses the BDAT that it offers: ${reply.code} ${reply.text}`.slice(0, 256));
    works.shift();
    const detail = `unexpected reply ${reply.code} to BDAT`;
    work.dotHanded = false;
    parts.lost(work, { reason: 'protocol', detail, reply: null }, true);
    channel.close('protocol', detail, reply);
  }

  function onClose(close: ChannelClose): void {
    const unanswered = works.splice(0);
    // Also where it ends the connection because of the BDAT: it would do so each time.
    if (unanswered.length > 0 && (close.reason === 'protocol' || proof !== null))
      parts.outOfStep(close.detail);
    const last = unanswered.at(-1);
    const said = ending === null ? null : { ...close, reason: '421' as const, reply: ending };
    const ended = close.reason === 'closed' || close.reason === 'reset';
    for (const [index, work] of unanswered.entries()) {
      // Only its last reply shows that the others were its own.
      work.results.fill(null);
      if (work === last) work.dotHasCompany = false;
      // Behind a 421 nothing was read, if the server closed; if it did not, that is not known.
      parts.lost(work, said !== null && (index === 0 || ended) ? said : close, index > 0);
    }
  }
}

const isPositive = ({ code }: Reply) => code < 300;
const isRefusal = ({ code }: Reply) => code >= 400;

/** A reply without what differs from message to message: its code and its first words. */
function markOf({ code, enhanced, text }: Reply): string {
  let mark = String(code);
  for (const word of text.slice(0, 256).split(' ', MARKED_WORDS))
    mark += word === enhanced || /^[A-Za-z]{1,32}[.,:;!]?$/.test(word) ? ` ${word}` : ' #';
  return mark;
}
