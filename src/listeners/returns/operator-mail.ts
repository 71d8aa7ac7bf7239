/**
 * Forwards mail for postmaster and abuse to the operator, as an attachment of our own message, through our own
 * acceptance, so that it is signed, retried and shown like any other. Returns why it stays a file instead: no domain to
 * send from, automatic mail or our own (which could loop), or too much of it. Each file is forwarded once, also after a
 * crash.
 */
import { createHash } from 'node:crypto';
import type { Clock } from '../../lib/clock.ts';
import { AppError } from '../../lib/errors.ts';
import { parseAddress } from '../../mail/address.ts';
import { autoReplySign, subjectOf } from '../../mail/auto-reply.ts';
import { fieldOf, type MimePart, readMime } from '../../mail/mime-tree.ts';
import type { ReturnPathTokens } from '../../mail/verp.ts';
import { SUBMISSION_DEFAULTS, type Submission, sendingCaller } from '../../model/submission.ts';
import type { SenderDomains } from '../../pipeline/accept/accept.ts';
import type { Acceptance } from '../../pipeline/accept/acceptance.ts';
import { ownSender } from '../../pipeline/accept/own-sender.ts';
import { networkKey } from '../../policy/access/failed-logins.ts';
import type { SpooledMail } from './spool.ts';

export interface OperatorMail {
  /** Why the message stays a file; null: it is being sent. Rejects if it may work later. */
  passOn(id: string, mail: SpooledMail): Promise<string | null>;
}

interface Deps {
  acceptance: Pick<Acceptance, 'accept'>;
  senders: SenderDomains;
  tokens: Pick<ReturnPathTokens, 'parseRef'>;
  clock: Clock;
}

interface Options {
  /** Where it is sent; null = nowhere. */
  operatorAddress: string | null;
  /** Our own domains, in the order in which they are tried as senders. */
  ownDomains: readonly string[];
}

const CALLER = sendingCaller('returns');
const OPERATION = 'returned mail';
/** RFC 5321 §6.3 allows a hundred; mail for a person has passed only a few servers. */
const MAX_RECEIVED = 30;
const HOUR_MS = 3_600_000;
const MAX_PER_HOUR = 20;
/** Per network address. */
const MAX_PER_SENDER = 5;
const MAX_READ_BYTES = 64 * 1024;

/** Throws for an invalid operator address. */
export function createOperatorMail(
  { acceptance, senders, tokens, clock }: Deps,
  options: Options,
): OperatorMail {
  const to = options.operatorAddress === null ? null : parseAddress(options.operatorAddress);
  if (to?.ok === false) throw new Error(`operator-address "${options.operatorAddress}" ${to.problem}`);
  let hourFrom = Number.NEGATIVE_INFINITY;
  let thisHour = 0;
  const bySender = new Map<string, number>();

  return {
    async passOn(id, mail) {
      if (to === null) return 'no operator-address is set';
      const read = readMime(mail.bytes.subarray(0, MAX_READ_BYTES));
      const loop = loopSign(tokens, mail, read);
      if (loop !== null) return loop;
      const domain = await ownSender(senders, CALLER, options.ownDomains);
      if (domain === null) {
        return `no verified sender domain covers ${options.ownDomains.join(' or ')}, so nothing can be sent from there`;
      }
      const sender = networkKey(mail.ip);
      const over = overLimit(sender);
      if (over !== null) return over;
      const { local, domain: toDomain, text } = to.address;
      const names = mail.targets.flatMap((target) => (target.kind === 'operator' ? [target.name] : []));
      const submission: Submission = {
        ...SUBMISSION_DEFAULTS,
        from: { name: 'Postrider', address: `postmaster@${domain}` },
        fromDomain: domain,
        recipients: [{ name: '', address: `${local}@${toDomain}`, domain: toDomain, kind: 'To' }],
        subject: `[${names.join(', ')}] ${subjectOf(read)}`.trim(),
        body: {
          kind: 'text',
          text: `Mail for ${names.join(' and ')} came in from ${mail.ip}, envelope sender <${mail.from ?? ''}>. It is attached as it arrived.\n`,
        },
        headers: [['Auto-Submitted', 'auto-generated']],
        // Not message/rfc822, which must not be encoded (RFC 2046 §5.2.1).
        attachments: [
          {
            content: mail.bytes,
            type: 'application/octet-stream',
            filename: 'message.eml',
            disposition: 'attachment',
            contentId: null,
          },
        ],
        keepContent: false,
      };
      const fingerprint = createHash('sha256').update(text).update(mail.bytes).digest();
      try {
        await acceptance.accept({
          caller: CALLER,
          submission,
          idempotency: { operation: OPERATION, key: id, fingerprint },
        });
      } catch (error) {
        // Temporary refusals are waited for; a quota that is used up is not.
        if (!(error instanceof AppError) || (error.retryAfterSeconds ?? 3600) <= 60) throw error;
        return `it was not accepted for sending: ${error.message}`;
      }
      thisHour += 1;
      bySender.set(sender, (bySender.get(sender) ?? 0) + 1);
      return null;
    },
  };

  /** The limit that it would exceed, or null. */
  function overLimit(sender: string): string | null {
    const now = clock.monotonicMs();
    if (now - hourFrom >= HOUR_MS) {
      hourFrom = now;
      thisHour = 0;
      bySender.clear();
    }
    if (thisHour >= MAX_PER_HOUR) return `more than ${MAX_PER_HOUR} messages in an hour`;
    if ((bySender.get(sender) ?? 0) < MAX_PER_SENDER) return null;
    return `more than ${MAX_PER_SENDER} messages from ${sender} in an hour`;
  }
}

/** A sign that forwarding it could loop, or null. */
function loopSign(tokens: Deps['tokens'], mail: SpooledMail, read: MimePart): string | null {
  if (mail.from === null) return 'its sender is null: a report, not a letter';
  // Other servers add this field too, and people write letters from them: only a reference of this server counts.
  if (tokens.parseRef(fieldOf(read, 'x-postrider-ref') ?? '').ok) return 'it went out from here';
  const sign = autoReplySign(read);
  if (sign !== null) return `it is automatic (${sign})`;
  const received = read.header.fields.filter(({ name }) => name === 'received').length;
  return received > MAX_RECEIVED ? `it has passed ${received} servers` : null;
}
