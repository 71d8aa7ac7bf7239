/** Recipients that returned mail is about, and what was recorded of them, as rows. */
import type { MessageId } from '../../../model/message.ts';
import type { OutcomeRates, ReturnFact, ReturnSubject } from '../../topics/returns.ts';
import { eventKindCode, returnKindCode, routeCode, stateCode } from '../codes.ts';
import { idOf, isTrue, type StoredFlag, type StoredId } from '../stored.ts';

export const MAX_SUBJECTS = 1000;
/** Of a message, oldest first: opens and clicks, of which there may be many, come after its deliveries. */
export const MAX_EVENTS_READ = 2_000;

/** Of a sender domain's complaints, oldest first, for another one of the same person. */
export const MAX_COMPLAINTS_READ = 1_000;
/** An event is made before the entry of its complaint, and another node's clock may be behind. */
const COMPLAINTS_BEFORE_MS = 10 * 60_000;

/** Of delivery `d` and its message `m`. */
export const SUBJECT_COLUMNS = `d.id, d.address, d.state, d.route, d.sandbox IS NOT NULL AS sandbox, m.id AS message_id,
  d.message_seq, d.updated_at`;

export interface SubjectRow {
  id: number;
  address: string;
  state: number;
  route: number | null;
  sandbox: StoredFlag;
  message_id: StoredId;
  message_seq: number;
  updated_at: number;
}

/** `sentAt`: when it was last delivered, if that is known. */
export function returnSubject(row: SubjectRow, sentAt: number | undefined): ReturnSubject {
  return {
    deliveryId: row.id,
    messageId: idOf(row.message_id) as MessageId,
    address: row.address,
    route: row.route === null ? null : routeCode.word(row.route),
    sandbox: isTrue(row.sandbox),
    sentAt: sentAt ?? row.updated_at,
  };
}

/** Of delivery `d` and its message `m`. */
export const RETURNED_COLUMNS =
  'd.id, d.state, d.attempts, d.address, d.notify, d.message_seq, m.id AS message_id, m.domain_id';

/** `Id`: how the engine stores the id of a message. */
export interface ReturnedRow<Id extends StoredId> {
  id: number;
  state: number;
  attempts: number;
  address: string;
  notify: number | null;
  message_seq: number;
  message_id: Id;
  domain_id: number;
}

/** The entry of a complaint that is withdrawn. */
export interface ComplaintEntry {
  id: number;
  created_at: number;
}

/** A recipient that a complaint may be about. */
export interface ComplaintRow {
  id: number;
  message_seq: number;
  address: string;
}

/**
 * From when on another complaint justifies the entry too: one that came before it, the entry's own aside, was withdrawn, or
 * somebody has taken its entry off the list.
 */
export const complaintsFrom = (entry: ComplaintEntry) => entry.created_at - COMPLAINTS_BEFORE_MS;

const [COMPLAINT, NOT_SPAM] = [returnKindCode.of('complaint'), returnKindCode.of('not-spam')];

/** Of what is recorded of a delivery; a simulated complaint is not. */
export function stands(facts: readonly { kind: number }[]): boolean {
  const has = (code: number) => facts.some(({ kind }) => kind === code);
  return has(COMPLAINT) && !has(NOT_SPAM);
}

/** The row of `return_fact` that keeps a fact from being recorded again. */
export function factRow(fact: ReturnFact, { attempts }: { attempts: number }, at: number) {
  const isOfAttempt = fact.kind === 'bounce' || fact.kind === 'note';
  return {
    delivery_id: fact.deliveryId,
    kind: returnKindCode.of(fact.kind === 'bounce' && fact.shared ? 'shared-bounce' : fact.kind),
    class: isOfAttempt ? fact.class : '',
    attempts: isOfAttempt ? attempts : 0,
    at,
  };
}

/** Whether delivery `d` counts as bounced in the rates of its sender domain. */
export const COUNTS_AS_BOUNCED = `d.state = ${stateCode.of('bounced')} AND NOT EXISTS
  (SELECT 1 FROM return_fact f WHERE f.delivery_id = d.id AND f.kind = ${returnKindCode.of('shared-bounce')})`;

/** Events for which a sender domain's rates are looked at. */
export const RETURNED_KINDS = (['bounced', 'complained', 'complaint_withdrawn'] as const).map(
  eventKindCode.of,
);

/** Of a domain without outcomes. */
export const NO_OUTCOMES: OutcomeRates = { outcomes: 0, bounced: 0, complained: 0 };
