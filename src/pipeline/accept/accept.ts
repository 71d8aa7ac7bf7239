/**
 * Acceptance: from a checked submission to a committed message.
 *
 *   sender domain → compose → size → suppressions → may it be accepted now → commit, synced → hand over → answer
 *
 * Takes a `Submission` and its sender (`acceptRaw`: a message that was submitted as bytes); stores the message, its
 * recipients and their events, and hands the rows that fit to the queue's window, already leased. A refusal is an
 * AppError with a code of src/lib/errors.ts, and nothing is stored. The answer is given only after the commit was
 * synced.
 */
import { AppError } from '../../lib/errors.ts';
import { uuidv7 } from '../../lib/ids.ts';
import { joinInTurns } from '../../lib/join-in-turns.ts';
import { createTurns, inTurns, type Turn } from '../../lib/turns.ts';
import { shownDomains } from '../../mail/author-field.ts';
import type { DomainSettings } from '../../model/domain.ts';
import type { MessageId } from '../../model/message.ts';
import { offersUnsubscribe, type PersonalOptions, respectsOptOuts } from '../../model/personal.ts';
import { type Caller, sendingCaller } from '../../model/submission.ts';
import { REMOVABLE_IF, type Suppression } from '../../model/suppression.ts';
import type { DomainService } from '../../policy/domains/domains.ts';
import { suppressedRecipients, suppressionText } from '../../policy/suppressions/suppressions.ts';
import { StoreUnavailable } from '../../store/store.ts';
import type { NewMessage } from '../../store/topics/acceptance.ts';
import { type Composed, compose } from '../compose/compose.ts';
import { personalRaw } from '../compose/personal-raw.ts';
import type {
  Acceptance,
  AcceptRequest,
  AcceptResult,
  BatchRequest,
  Checked,
  NoticeAcceptance,
  NoticeRequest,
  RawAcceptance,
  RawRequest,
} from './acceptance.ts';
import { acceptDrafts } from './batch.ts';
import { type CommitDeps, createCommitter, type Draft, RETRY_AFTER_SECONDS } from './commit-messages.ts';
import { composeInputInSteps } from './compose-input.ts';
import { type MessageDeps, newMessage } from './new-message.ts';
import { createPersonalRules } from './personal-rules.ts';
import { quotaExceeded, requireQuota } from './quota.ts';
import { fromDomainOf, releasedMessage } from './release.ts';
import { senderRefusal } from './sender-refusal.ts';

/** The caller of notices. */
const NOTICE_CALLER = sendingCaller('notices');

/** Finds whose keys sign: the registered domain that covers `fromDomain` for this caller, or the refusal. */
export type SenderDomains = Pick<DomainService, 'senderFor'>;

export interface AcceptOptions extends Pick<MessageDeps, 'simulatorDomain' | 'maxAgeMs'> {
  maxMessageBytes: number;
  /** How long an idempotency key is kept, in ms. */
  idempotencyWindowMs: number;
  /** Domain of unsubscribe addresses; null or absent = no mail is received there. */
  mailtoDomain?: string | null;
  /** Personal links may lead to this machine, or be plain http, because mail is only tested; absent = they must not. */
  testLinks?: boolean;
}

interface Deps extends CommitDeps, Pick<MessageDeps, 'random' | 'ruleMayApply'> {
  senders: SenderDomains;
  /** Whether contents of a sender domain with these settings are kept when every recipient is final. */
  keepsContent(settings: DomainSettings | undefined): boolean;
  /** Whether the sender domain may store this much more; throws AppError quota-exceeded. Absent = no limit. */
  storage?: { take(domain: string, more: { bytes: number; recipients: number }): Promise<void> };
  /** Base of personal links of domains without a tracking host; absent = no such links. */
  publicUrl?(): string;
}

export function createAcceptance(
  deps: Deps,
  options: AcceptOptions,
): Acceptance & RawAcceptance & NoticeAcceptance {
  const { store, senders, clock, random } = deps;
  const committer = createCommitter(deps, options);
  const rows: MessageDeps = { ...deps, ...options };
  const personalRules = createPersonalRules({
    publicUrl: deps.publicUrl ?? null,
    mailtoDomain: options.mailtoDomain ?? null,
    testLinks: options.testLinks ?? false,
  });

  return {
    accept: (request) => about(request.submission.fromDomain, accept(request)),
    acceptBatch,
    acceptRaw: (request) => about(request.submission.fromDomain, acceptRaw(request)),
    acceptNotice,
    async personalOptions(caller, facts) {
      const sender = await senders.senderFor(caller, facts.fromDomain);
      return sender.kind === 'domain' ? personalRules.optionsFor(facts, sender.settings ?? null) : null;
    },
    check: (request) => about(request.submission.fromDomain, check(request)),
    async release(request) {
      const { caller, captured } = request;
      const fromDomain = fromDomainOf(captured);
      const { name, quota } = await senderDomain(caller, fromDomain);
      await requireClaims(caller, fromDomain, shownDomains(captured.message.lists.from.name));
      const message = releasedMessage(
        { ...request, domain: name },
        { clock, random, maxAgeMs: options.maxAgeMs },
      );
      await screen(message);
      await takeRoom(message);
      return take(request, { message, quota });
    },
    close: committer.close,
    refusing: committer.refusing,
  };

  async function accept(request: AcceptRequest): Promise<AcceptResult> {
    const { caller, idempotency } = request;
    const draft = await drafted(request);
    await screen(draft.message);
    await takeRoom(draft.message);
    // The request is not captured while waiting for the commit: its texts are as large as the message and no longer
    // needed.
    return take({ caller, idempotency }, draft);
  }

  async function acceptRaw(request: RawRequest): Promise<AcceptResult> {
    const { caller, submission } = request;
    const { messageId, dateMs } = request.prepared;
    const { name, quota, settings } = await senderDomain(caller, submission.fromDomain);
    // The null sender claims nothing; any other must belong to the caller, as must the one in the header.
    if (submission.envelopeDomain !== null && submission.envelopeDomain !== submission.fromDomain) {
      await senderDomain(caller, submission.envelopeDomain);
    }
    await requireClaims(caller, submission.fromDomain, submission.claimedDomains ?? []);
    const personal = personalRules.optionsFor(submission, settings ?? null);
    const composed = await withPersonalLinks(request.prepared.composed, personal, createTurns(clock));
    checkSize(composed);
    const message = newMessage(rows, request, name, messageId, dateMs, composed);
    message.keepContent = submission.keepContent !== false && deps.keepsContent(settings);
    await screen(message);
    await takeRoom(message);
    return take(request, { message, quota });
  }

  async function acceptNotice({ submission, prepared, tells }: NoticeRequest): Promise<boolean> {
    const { messageId, dateMs, composed } = prepared;
    const { name } = await senderDomain(NOTICE_CALLER, submission.fromDomain);
    checkSize(composed);
    const message = newMessage(
      rows,
      { caller: NOTICE_CALLER, submission },
      name,
      messageId,
      dateMs,
      composed,
    );
    message.keepContent = false;
    await screen(message);
    return committer.tell(NOTICE_CALLER, { message, quota: null }, tells);
  }

  async function acceptBatch(request: BatchRequest) {
    committer.requireOpen();
    return acceptDrafts({ committer, store, clock }, request, async (item) => {
      const draft = await drafted({ ...item, caller: request.caller });
      await screen(draft.message);
      await takeRoom(draft.message);
      return draft;
    });
  }

  async function check(request: Omit<AcceptRequest, 'idempotency'>): Promise<Checked> {
    const { message, quota } = await drafted(request);
    const suppressed = await screen(message);
    await takeRoom(message, { bytes: 0, recipients: 0 });
    if (quota !== null) await requireQuota(store, message, quota);
    committer.requireOpen();
    return {
      domain: message.domain,
      size: message.content.length,
      suppressed,
      simulated: message.recipients.filter(({ sandbox }) => sandbox !== null).length,
      unsubscribe: offersUnsubscribe(message.places),
    };
  }

  async function drafted(request: Omit<AcceptRequest, 'idempotency'>): Promise<Draft> {
    const { caller, submission } = request;
    const { name, quota, settings } = await senderDomain(caller, submission.fromDomain);
    const shown = shownDomains(submission.from.name, { apart: false });
    await requireClaims(caller, submission.fromDomain, shown);
    const messageId = request.prepared?.messageId ?? (uuidv7(clock, random) as MessageId);
    const now = request.prepared?.dateMs ?? clock.now();
    const composed =
      request.prepared?.composed ??
      compose(
        await inTurns(
          composeInputInSteps(submission, {
            messageId,
            dateMs: submission.sendAt ?? now,
            personal: personalRules.optionsFor(submission, settings ?? null),
          }),
          createTurns(clock),
        ),
      );
    checkSize(composed);
    const message = newMessage(rows, request, name, messageId, now, composed);
    message.keepContent = submission.keepContent !== false && deps.keepsContent(settings);
    return { message, quota };
  }

  async function take(
    request: Pick<AcceptRequest, 'caller' | 'idempotency'>,
    draft: Draft,
  ): Promise<AcceptResult> {
    const { id } = draft.message;
    const { caller, idempotency } = request;
    const result = await committer.take({ caller, idempotency, body: acceptedBody(id) }, [draft]);
    if (result.kind === 'replay') return result;
    if (result.kind === 'quota-exceeded') throw quotaExceeded(result, draft.message);
    return { kind: 'accepted', messageId: id };
  }

  /**
   * Checks that there is space on the disk and in the queue for it, in addition to what its sender domain has there.
   * Notices are not counted: they are our own, and few.
   */
  function takeRoom(message: NewMessage, room = roomOf(message)): Promise<void> | undefined {
    // Refusals that concern everybody come first, because this domain is not the reason.
    committer.requireOpen();
    return deps.storage?.take(message.domain, room);
  }

  /** Suppressed recipients only get their event; a message without any other recipient is refused. */
  async function screen(message: Draft['message']): Promise<Checked['suppressed']> {
    // The sandbox sends to nobody, so suppressions do not apply to it.
    const addresses = message.recipients.filter(({ sandbox }) => sandbox === null).map((r) => r.address);
    const stopped = await onTheList(message, addresses);
    if (stopped.size === 0) return [];
    if (stopped.size === message.recipients.length) {
      const [first] = stopped;
      const example =
        first === undefined
          ? ''
          : `; ${first[0]}: ${suppressionText(first[1])}. ${REMOVABLE_IF[first[1].reason]}: postrider suppress remove ${first[0]} --domain ${message.domain} --reason ${first[1].reason}`;
      throw new AppError('all-recipients-suppressed', {
        message: `Every recipient is on the suppression list${example}`,
      });
    }
    for (const recipient of message.recipients) {
      const entry = stopped.get(recipient.address);
      if (entry === undefined) continue;
      recipient.state = 'suppressed';
      recipient.events = [
        {
          id: uuidv7(clock, random),
          kind: 'suppressed',
          at: message.createdAt,
          detail: { reason: `On the suppression list: ${suppressionText(entry)}`.slice(0, 512) },
        },
      ];
    }
    return [...stopped].map(([address, entry]) => ({ address, reason: suppressionText(entry) }));
  }

  function onTheList(
    { domain, lane, createdAt, places }: NewMessage,
    addresses: readonly string[],
  ): Promise<ReadonlyMap<string, Suppression>> {
    const listUnsubscribe = respectsOptOuts(places);
    return suppressedRecipients(store, { lane, listUnsubscribe, domain, addresses, now: createdAt });
  }

  async function senderDomain(caller: Caller, fromDomain: string) {
    const sender = await senders.senderFor(caller, fromDomain);
    if (sender.kind === 'domain') return sender;
    throw senderRefusal(sender, caller, fromDomain, '/From/email');
  }

  /**
   * Every other address shown as author or sender must belong to the caller too: a person, or a program that searches
   * for `@`, may read it as the author. The first that does not ends the search.
   */
  async function requireClaims(caller: Caller, fromDomain: string, claimed: readonly string[]) {
    for (const domain of claimed) {
      if (domain === fromDomain) continue;
      const { kind } = await senders.senderFor(caller, domain);
      if (kind !== 'domain') {
        throw new AppError('from-domain-not-allowed', {
          field: '/From/name',
          message: `The sender shows an address at ${domain.slice(0, 100)}, which is not a domain this token may send from`,
        });
      }
    }
  }

  function checkSize(composed: Composed): void {
    if (composed.bytes.length > options.maxMessageBytes) {
      throw new AppError('message-too-large', {
        message: `The encoded message has ${composed.bytes.length} octets, and attachments are a third larger in it (base64); the limit of this server is ${options.maxMessageBytes} (its key max-message-bytes)`,
      });
    }
  }
}

/**
 * The result of `work`; a refusal gets the sender domain that it is about, and a store that is away is one. Not `async`,
 * because its frame would keep the request in memory.
 */
function about<Result>(fromDomain: string, work: Promise<Result>): Promise<Result> {
  return work.catch((error: unknown) => {
    const refusal =
      error instanceof StoreUnavailable
        ? new AppError('unavailable', { retryAfterSeconds: RETRY_AFTER_SECONDS, cause: error })
        : error;
    if (refusal instanceof AppError) refusal.about = fromDomain;
    throw refusal;
  });
}

/** The offset of a Date that we added moves with what is put before it. */
async function withPersonalLinks(
  composed: RawRequest['prepared']['composed'],
  personal: PersonalOptions | null,
  turn: Turn,
): Promise<RawRequest['prepared']['composed']> {
  const changed = personal === null ? null : await inTurns(personalRaw(composed, personal), turn);
  if (changed === null) return composed;
  const { parts, bodyOffset, places, added } = changed;
  const { dateOffset } = composed;
  return {
    ...composed,
    bytes: await joinInTurns(parts, turn),
    bodyOffset,
    places,
    dateOffset: dateOffset === null ? null : dateOffset + added,
  };
}

/** The body of the answer to an accepted message: exactly one member, as specified. */
function acceptedBody(messageId: MessageId): string {
  return `{"MessageID":"${messageId}"}`;
}

function roomOf({ content, recipients }: NewMessage): { bytes: number; recipients: number } {
  const waits = recipients.filter(({ state }) => state !== 'suppressed').length;
  return { bytes: content.length, recipients: waits };
}
