/**
 * What a client is answered and was not sent yet, in the order of its commands. Replies to MAIL and RCPT wait for those to the
 * commands that came with them (RFC 2920 §3.2): a write less for each, which is most of what an envelope costs. Others do not
 * wait, above all not the one that a message was taken. Refusals are counted and reported here. Memory: 16 KiB and a reply.
 */
import { formatReply, REPLIES } from './server-reply.ts';
import type { AnsweredCommand, ServerConnection, ServerHandler, ServerReply } from './server-types.ts';

interface ServerOutput {
  /** Adds the reply to a command; null: a refusal of it is not reported. Returns whether the connection goes on. */
  add(answer: ServerReply, to: AnsweredCommand | null): boolean;
  /** Writes what was added; `canWait`: only if it holds a reply that does not wait, or too much. */
  flush(canWait: boolean): void;
  clear(): void;
}

const MAX_HELD_REPLIES = 16 * 1024;

/** `maxErrors`: refused commands since the last message that was taken. */
export function createServerOutput(
  connection: ServerConnection,
  handler: ServerHandler,
  maxErrors: number,
): ServerOutput {
  let out = '';
  let isUrgent = false;
  let errors = 0;
  let isMailRefused = false;

  return {
    add(answer, to) {
      const { code } = answer;
      isUrgent ||= to?.command !== 'MAIL' && to?.command !== 'RCPT';
      if (code >= 500) errors += 1;
      if (to?.command === 'DATA' && code < 300) errors = 0;
      if (code >= 400 && to !== null && !followsRefusal(answer))
        handler.onRefused?.(to.command, answer, to.from);
      if (to?.command === 'MAIL') isMailRefused = code >= 400;
      out += formatReply(answer);
      if (answer.close === true) return false;
      if (errors > maxErrors) out += formatReply(REPLIES.tooManyErrors);
      return errors <= maxErrors;
    },
    flush(canWait) {
      if (out === '' || (canWait && !isUrgent && out.length <= MAX_HELD_REPLIES)) return;
      const text = out;
      out = '';
      isUrgent = false;
      connection.write(text);
    },
    clear() {
      out = '';
    },
  };

  /** The refusal before it says why: the client sent this command before it read that (RFC 2920), or did not heed it. */
  function followsRefusal(answer: ServerReply): boolean {
    return answer === REPLIES.noRecipient || (answer === REPLIES.needMail && isMailRefused);
  }
}
