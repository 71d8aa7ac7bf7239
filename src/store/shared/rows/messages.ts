/**
 * Rows of `message`, once for both engines: the columns of an accepted message, what is read of one, and which texts may
 * name a person. What the store keeps of a submission as it was given follows from `KEPT_FIELDS` (model/submission.ts).
 */

import type { MessageId } from '../../../model/message.ts';
import { respectsOptOuts } from '../../../model/personal.ts';
import { KEPT_FIELDS, type KeptFields } from '../../../model/submission.ts';
import { IS_DEFERRED, IS_SCHEDULED } from '../../../model/wait-reason.ts';
import type { NewMessage } from '../../topics/acceptance.ts';
import type { MessageView, RecipientView } from '../../topics/messages.ts';
import { laneCode, recipientKindCode, routeCode, stateCode, uuidBytes } from '../codes.ts';
import { columnOf, record } from '../record.ts';
import { idOf, isTrue, type StoredId, textsOf } from '../stored.ts';

/** PostgreSQL's name of a column's type; a list of texts is JSON in SQLite. */
type ColumnType = 'int2' | 'int4' | 'int8' | 'bool' | 'text' | 'uuid' | 'texts';
type Stored = number | string | boolean | Uint8Array | readonly string[] | null;

/** Its type, and what a message has there. `nameOf`: the number of a text in the table `name`. */
type MessageColumn = readonly [
  type: ColumnType,
  value: (message: NewMessage, nameOf: (text: string) => number) => Stored,
];

/** How a kept field of a form is stored. An empty list or record is NULL. */
const FORMS = {
  lane: { type: 'int2', of: laneCode.of, word: laneCode.word },
  text: { type: 'text', of: same, word: same },
  texts: {
    type: 'texts',
    of: (texts: readonly string[]) => (texts.length === 0 ? null : texts),
    word: textsOf,
  },
  record: {
    type: 'text',
    of: (pairs: object) => (isEmpty(pairs) ? null : JSON.stringify(pairs)),
    word: (stored: string | null) => (stored === null ? {} : JSON.parse(stored)),
  },
  instant: { type: 'int8', of: same, word: same },
  flag: { type: 'bool', of: same, word: isTrue },
} satisfies Record<string, { type: ColumnType; of(value: never): Stored; word(stored: never): unknown }>;

const KEPT = Object.entries(KEPT_FIELDS).map(([member, form]) => ({
  member: member as keyof KeptFields,
  column: columnOf(member),
  form,
  ...(FORMS[form] as { type: ColumnType; of(value: unknown): Stored; word(stored: unknown): unknown }),
}));

const COLUMNS = {
  id: ['uuid', ({ id }) => uuidBytes(id)],
  domain_id: ['int8', ({ domain }, nameOf) => nameOf(domain)],
  token_name_id: ['int8', ({ tokenId }, nameOf) => nameOf(tokenId)],
  sandbox: ['bool', ({ sandbox }) => sandbox],
  needs_smtputf8: ['bool', ({ needsSmtpUtf8 }) => needsSmtpUtf8],
  eight_bit: ['bool', ({ eightBit }) => eightBit],
  body_offset: ['int4', ({ bodyOffset }) => bodyOffset],
  size: ['int4', ({ content }) => content.length],
  created_at: ['int8', ({ createdAt }) => createdAt],
  expires_at: ['int8', ({ expiresAt }) => expiresAt],
  from_address: ['text', ({ lists }) => lists.from.address],
  lists: ['text', ({ lists }) => JSON.stringify(lists)],
  expiry_given: ['bool', ({ expiryGiven }) => expiryGiven],
  date_offset: ['int4', ({ dateOffset }) => dateOffset],
  keep_content: ['bool', ({ keepContent }) => keepContent !== false],
  personal: ['int2', ({ places }) => personalBits(places)],
  null_sender: ['bool', ({ nullSender }) => nullSender === true],
} satisfies Record<string, MessageColumn>;

type Underscored<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${Underscored<Rest>}`
  : Name;

/** The names of `MESSAGE_COLUMNS`. */
export type MessageColumnName = keyof typeof COLUMNS | Underscored<keyof KeptFields>;

/** Every column of `message` but its number. */
export const MESSAGE_COLUMNS: readonly { name: string; type: ColumnType; value: MessageColumn[1] }[] = [
  ...Object.entries<MessageColumn>(COLUMNS).map(([name, [type, value]]) => ({ name, type, value })),
  ...KEPT.map(({ member, column, type, of }) => ({
    name: column,
    type,
    value: (message: NewMessage) => of(message[member]),
  })),
];

/** The kept fields that may name a person, who can be erased from them. */
export const KEPT_TEXTS: readonly { member: keyof KeptFields; column: string; isList: boolean }[] =
  KEPT.filter(({ form }) => ['text', 'texts', 'record'].includes(form)).map(({ member, column, form }) => ({
    member,
    column,
    isList: form === 'texts',
  }));

const VIEW = record<Omit<MessageView, keyof KeptFields | 'domain' | 'listUnsubscribe' | 'recipients'>>(
  {
    seq: 'plain',
    id: {
      of: uuidBytes,
      word: (stored: StoredId) => idOf(stored) as MessageId,
    },
    lists: 'json',
    sandbox: 'flag',
    size: 'plain',
    createdAt: 'plain',
    expiresAt: 'plain',
    expiryGiven: 'flag',
  },
  'm.',
);

/** What `messageView` reads of a message `m` and its domain's name `n`. */
export const MESSAGE_VIEW = `${VIEW.columns}, ${KEPT.map(({ member, column }) => `m.${column} AS "${member}"`).join(', ')},
  m.personal, n.text AS domain`;

/** A row of `MESSAGE_VIEW`. */
export interface MessageRow {
  seq: number;
  personal: number;
  domain: string;
  /** The others. */
  [member: string]: unknown;
}

export function messageView(row: MessageRow, recipients: readonly RecipientView[]): MessageView {
  const kept = Object.fromEntries(KEPT.map(({ member, word }) => [member, word(row[member])]));
  return {
    ...VIEW.value(row),
    ...(kept as object as KeptFields),
    domain: row.domain,
    listUnsubscribe: row.personal === 3,
    recipients,
  };
}

/** A recipient, but for what other tables and the columns with other names say of it. */
export const RECIPIENT = record<Omit<RecipientView, 'deliveryId' | 'lastCode' | 'routeKey'>>(
  {
    address: 'plain',
    kind: recipientKindCode,
    state: stateCode,
    attempts: 'plain',
    dueAt: 'plain',
    expiresAt: 'plain',
    waitReason: 'plain',
    lastReply: 'plain',
    lastCategory: 'plain',
    route: routeCode,
    mayBeDuplicate: 'flag',
    causeId: 'plain',
    updatedAt: 'plain',
  },
  'd.',
);

/** Column `personal`: whether copies differ, and whether opt-outs stop them in any lane. */
function personalBits(places: NewMessage['places']): number {
  if (places === undefined) return 0;
  return respectsOptOuts(places) ? 3 : 1;
}

/** Faster than counting its names. */
function isEmpty(pairs: object): boolean {
  for (const _ in pairs) return false;
  return true;
}

function same<Value>(value: Value): Value {
  return value;
}

/** See `MessageFilter.waiting`. */
export const WAITING_STATES = {
  scheduled: `d.${IS_SCHEDULED}`,
  tried: `(d.attempts > 0 OR d.${IS_DEFERRED})`,
} as const;
