/**
 * Makes the rows that acceptance stores from a submission and its composed bytes: one message, and each recipient with
 * its first event. Decides which recipients the sandbox simulates and when the message expires; looks nothing up.
 */
import type { Clock } from '../../lib/clock.ts';
import { uuidv7 } from '../../lib/ids.ts';
import type { Random } from '../../lib/random.ts';
import type {
  AddressLists,
  Lane,
  Mailbox,
  MessageId,
  RecipientKind,
  SandboxResult,
} from '../../model/message.ts';
import { type Caller, keptFields, type RawSubmission, type Submission } from '../../model/submission.ts';
import { SCHEDULED } from '../../model/wait-reason.ts';
import type { NewMessage, NewRecipient } from '../../store/topics/acceptance.ts';
import { type Composed, DATE_OFFSET } from '../compose/compose.ts';
import { LANE_MAX_AGE } from '../queue/retry-schedule.ts';
import { magicResult } from './simulator.ts';

/** A recipient that no other reason sends to the sandbox. */
export interface SimulatedMail {
  senderDomain: string;
  recipientDomain: string;
  lane: Lane;
  address: string;
  subject: string;
  tags: readonly string[];
}

/** What the rows of a message depend on. */
export interface MessageDeps {
  clock: Clock;
  random: Random;
  /** Results of recipients at this domain are simulated by their local part. */
  simulatorDomain: string;
  /** Maximum age for all lanes instead of each lane's own; ms or null. */
  maxAgeMs: number | null;
  /**
   * Whether a sandbox rule may apply to this recipient, which goes to the sandbox by the server's route; absent =
   * never.
   */
  ruleMayApply?(mail: SimulatedMail): boolean;
}

/** The message of sender domain `domain`, accepted at `now`; suppressions are not applied yet. */
export function newMessage(
  deps: MessageDeps,
  { caller, submission }: { caller: Caller; submission: Submission | RawSubmission },
  domain: string,
  id: MessageId,
  now: number,
  composed: Composed & { eightBit?: boolean; dateOffset?: number | null },
): NewMessage & { recipients: NewRecipient[] } {
  const { clock, random, simulatorDomain, maxAgeMs, ruleMayApply } = deps;
  const wholeResult: SandboxResult | null = submission.sandbox ?? (caller.sandbox ? 'deliver' : null);
  const { sendAt } = submission;
  const recipients: NewRecipient[] = [];
  for (const { address, domain: recipientDomain, kind, notify, orcpt } of submission.recipients) {
    const magic = recipientDomain === simulatorDomain ? magicResult(address) : null;
    const sandbox =
      submission.sandbox ??
      magic ??
      wholeResult ??
      (ruleMayApply?.({
        senderDomain: domain,
        recipientDomain,
        lane: submission.lane,
        address,
        subject: submission.subject,
        tags: submission.tags,
      }) === true
        ? 'deliver'
        : null);
    const suppressed = sandbox === 'suppress';
    recipients.push({
      address,
      domain: recipientDomain,
      kind,
      state: suppressed ? 'suppressed' : 'queued',
      dueAt: sendAt ?? now,
      waitReason: sendAt === null ? null : SCHEDULED,
      sandbox,
      ...(notify === undefined ? {} : { notify }),
      ...(orcpt === undefined ? {} : { orcpt }),
      events: [
        {
          id: uuidv7(clock, random),
          at: now,
          ...(suppressed
            ? { kind: 'suppressed', detail: { reason: 'simulated by the sandbox' } }
            : sendAt === null
              ? { kind: 'accepted', detail: null }
              : { kind: 'scheduled', detail: { nextAttemptAt: sendAt } }),
        },
      ],
    });
  }
  return {
    id,
    domain,
    tokenId: caller.tokenId,
    ...keptFields(submission),
    lists: addressLists(submission),
    sandbox: wholeResult !== null || recipients.every((recipient) => recipient.sandbox !== null),
    content: composed.bytes,
    ...(composed.places === undefined ? {} : { places: composed.places }),
    bodyOffset: composed.bodyOffset,
    needsSmtpUtf8: composed.needsSmtpUtf8,
    eightBit: composed.eightBit === true,
    createdAt: now,
    expiresAt: submission.expiresAt ?? (sendAt ?? now) + (maxAgeMs ?? LANE_MAX_AGE[submission.lane]),
    expiryGiven: submission.expiresAt !== null,
    dateOffset: composed.dateOffset === undefined ? DATE_OFFSET : composed.dateOffset,
    recipients,
    ...envelopeFacts(submission),
  };
}

/** Mail over HTTP has no envelope. */
function envelopeFacts(submission: Submission | RawSubmission): Pick<NewMessage, 'nullSender' | 'notice'> {
  if (!('envelopeDomain' in submission)) return {};
  if (submission.envelopeDomain === null) return { nullSender: true };
  return submission.notice === null ? {} : { notice: submission.notice };
}

function addressLists(submission: Submission | RawSubmission): AddressLists {
  const of = (kind: RecipientKind): Mailbox[] =>
    submission.recipients.filter((r) => r.kind === kind).map(({ name, address }) => ({ name, address }));
  return {
    from: submission.from,
    to: of('To'),
    cc: of('CC'),
    bcc: of('BCC'),
    replyTo: [...submission.replyTo],
  };
}
