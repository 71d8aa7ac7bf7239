/**
 * What is stored of a reply and its attempt: the columns of the recipient, the parts of an event, and the cause that the
 * failure is counted under. Texts of other servers are cut to 512 characters.
 */
import type { Bounce } from '../../../model/bounce.ts';
import type { ClaimedDelivery } from '../../../model/delivery.ts';
import type { EventDetail } from '../../../store/topics/events.ts';
import type { Settlement } from '../../../store/topics/queue.ts';
import { pascalCase } from './classifier/categories.ts';
import { replyShape } from './classifier/shape.ts';
import type { Verdict } from './classifier/verdict.ts';
import type { Ending, ReplyFacts } from './outcome.ts';

export const MAX_TEXT = 512;

/** What a failure is counted and shown as. */
export type Blame = Pick<Verdict, 'category' | 'scope'>;

/** `550 5.1.1 No such user` as one line; a result that this server decided itself has no code, and is its sentence. */
function replyText({ code, enhanced, text }: ReplyFacts): string {
  if (code === 0) return text;
  // The text of a remote's reply contains its enhanced code; our own texts do not.
  const said = enhanced === null || text.startsWith(enhanced) ? text : `${enhanced} ${text}`;
  return `${code} ${said}`.trim();
}

/** The words of a failure: the reply, or `detail` if there was none, or a reply of success that came out of place. */
export function failureText({ reply, detail }: Pick<Ending, 'reply' | 'detail'>): string {
  return reply === null || isSuccess(reply) ? detail : replyText(reply);
}

function isSuccess({ code }: ReplyFacts): boolean {
  return code >= 200 && code < 400;
}

/** The last answer, as the recipient's row has it. */
export function replyColumns(reply: ReplyFacts): Pick<Settlement, 'lastCode' | 'lastReply'> {
  return { lastCode: reply.code, lastReply: replyText(reply).slice(0, MAX_TEXT) };
}

/** The same of a failure. */
export function failureColumns(why: Ending): Pick<Settlement, 'lastCode' | 'lastReply'> {
  const lastCode = why.reply === null || isSuccess(why.reply) ? 0 : why.reply.code;
  return { lastCode, lastReply: failureText(why).slice(0, MAX_TEXT) };
}

/**
 * The group of recipients that share this problem (of the path, the sender domain, the recipient domain or the
 * message). A problem of one recipient's mailbox belongs to no group, and simulated results have no cause. A relay that
 * makes its own client come back (greylisting) does so for all mail.
 */
export function causeOf(delivery: ClaimedDelivery, blame: Blame, why: Ending): Pick<Settlement, 'cause'> {
  const { category } = blame;
  const ofRelay = category === 'greylisted' && why.facts.route === 'relay';
  const scope = ofRelay ? 'path' : blame.scope;
  if (delivery.sandbox !== null || scope === 'recipient') return {};
  const said = failureText(why);
  return {
    cause: {
      category,
      scope,
      site: delivery.recipientDomain,
      senderDomain: scope === 'path' || scope === 'domain' ? '' : delivery.senderDomain,
      shape: replyShape(said),
      reply: said.slice(0, MAX_TEXT),
    },
  };
}

/** What an event says of the attempt. */
export function factsDetail({ facts, reply }: Pick<Ending, 'facts' | 'reply'>): EventDetail {
  return {
    ...(facts.remoteMta === '' ? {} : { remoteMta: facts.remoteMta }),
    ...(facts.sourceAddress === undefined ? {} : { sourceAddress: facts.sourceAddress }),
    ...(facts.conversation === '' ? {} : { conversation: facts.conversation }),
    ...(facts.tls === '' ? {} : { tls: facts.tls }),
    ...(facts.durationMs === 0 ? {} : { durationMs: Math.round(facts.durationMs) }),
    ...(reply === null || reply.code === 0 ? {} : { reply: replyText(reply).slice(0, MAX_TEXT) }),
  };
}

/** The bounce of an event, as webhooks show it. */
export function bounceOf(type: Bounce['Type'], { category, scope }: Blame, why: Ending): Bounce {
  const refusal = why.reply === null || isSuccess(why.reply) ? null : why.reply;
  return {
    Type: type,
    Class: pascalCase(category),
    Scope: scope,
    Phase: 'Session',
    SmtpCode: refusal?.code ?? 0,
    EnhancedCode: refusal?.enhanced ?? '',
    Diagnostic: failureText(why).slice(0, MAX_TEXT),
    RemoteMta: why.facts.remoteMta,
  };
}
