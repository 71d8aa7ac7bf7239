/**
 * What is typed into the search box, as the filters of `GET /email`: `ada@example.net status:bounced since:2d`. The words are the
 * API's names in lower case; an address without a name is a recipient, `@example.net` the domain of one, a message id opens
 * that message, and anything else is looked for in the subject. Leaves what could not be understood as a sentence, and no filter for it.
 */
import type { Query } from '../../api/call.ts';
import { addressOf, instantOf, NO_INSTANT, splitWords } from '../../components/search-text.ts';

export interface Search {
  filters: Query;
  /** The words that narrow the list, as they were typed. */
  words: readonly { typed: string; name: string; value: string }[];
  /** A message id that was given alone. */
  messageId: string | null;
  /** What is wrong with the words; null = nothing. */
  problem: string | null;
}

const NAMES: Readonly<Record<string, string>> = {
  from: 'From',
  to: 'To',
  recipientdomain: 'RecipientDomain',
  subject: 'Subject',
  tag: 'Tag',
  status: 'Status',
  domain: 'Domain',
  since: 'Since',
  until: 'Until',
  cause: 'Cause',
};
const METADATA = 'metadata.';
const MESSAGE_ID = /^<?([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:@[^\s>]*)?>?$/i;

/** What `status:` finds, in the order of a message's way. */
export const STATUSES = [
  ...['Scheduled', 'Queued', 'Held', 'Sending', 'Deferred', 'Delivered', 'Captured'],
  ...['PartiallyDelivered', 'Bounced', 'Failed', 'Rejected', 'Suppressed', 'Canceled'],
] as const;

/** Words that the box understands, each with an example. */
export const SEARCH_HELP = [
  ['ada@example.net, or @example.net', 'a recipient, or all of a domain'],
  ['invoice, or subject:"your invoice"', 'the subject holds this'],
  ['019ab0c1-7d3e-7000-8000-000000000001', 'opens the message with this id'],
  ['status:bounced', 'the message, or one of its recipients, is there'],
  ['from:shop@example.com domain:example.com', 'the sender, or its domain'],
  ['tag:welcome metadata.order:4711', 'what the sender gave the message'],
  ['since:2h until:2026-12-24', 'when it was accepted: an age (m, h, d, w) or a date'],
] as const;

export function readSearch(text: string, nowMs: number): Search {
  const filters: Record<string, string> = {};
  const words: { typed: string; name: string; value: string }[] = [];
  const free: string[] = [];
  let messageId: string | null = null;
  let problem: string | null = null;
  for (const { word, typed } of splitWords(text)) {
    const colon = word.indexOf(':');
    const name = word.slice(0, Math.max(colon, 0)).toLowerCase();
    const value = word.slice(colon + 1);
    const id = MESSAGE_ID.exec(word)?.[1];
    if (id !== undefined) messageId = id.toLowerCase();
    else if (name.startsWith(METADATA) && name.length > METADATA.length) {
      // The keys of metadata keep their case.
      if (take('metadata', value)) filters[`Metadata.${word.slice(METADATA.length, colon)}`] = value;
    } else if (NAMES[name] !== undefined) {
      const read = take(name, value) ? readValue(name, value, nowMs) : null;
      if (read !== null) filters[NAMES[name]] = read;
      else if (value !== '') problem = problemOf(name, value);
    } else if (/^@[^@]+$/.test(word)) filters.RecipientDomain = word.slice(1);
    else if (word.includes('@')) {
      filters.To = addressOf(word) ?? word;
      // What stands before an address in angle brackets is the name of whom it belongs to.
      if (word.startsWith('<')) free.length = 0;
    } else free.push(word);
    if (problem === null || name !== '') words.push({ typed, name, value });

    function take(called: string, given: string): boolean {
      if (given === '') problem = `${called}: needs a value behind it`;
      return given !== '';
    }
  }
  if (free.length > 0) filters.Subject = [filters.Subject, ...free].filter(Boolean).join(' ');
  return { filters, words, messageId, problem };
}

function readValue(name: string, value: string, nowMs: number): string | null {
  if (name === 'since' || name === 'until') return instantOf(value, nowMs);
  if (name === 'cause') return /^[1-9][0-9]{0,14}$/.test(value) ? value : null;
  if (name === 'from' || name === 'to') return addressOf(value) ?? value;
  if (name !== 'status') return value;
  return STATUSES.find((word) => word.toLowerCase() === value.toLowerCase()) ?? null;
}

function problemOf(name: string, value: string): string {
  if (name === 'status') return `status:${value} is not known; there are ${STATUSES.join(', ')}`;
  return `${name}:${value} ${name === 'cause' ? 'is not a number' : NO_INSTANT}`;
}

/** The text with `name:value` in place of what it says of that name, or without it. */
export function withWord(text: string, name: string, value: string | null): string {
  const others = splitWords(text).filter(({ word }) => !word.toLowerCase().startsWith(`${name}:`));
  const typed = others.map((one) => one.typed);
  return [...typed, ...(value === null ? [] : [`${name}:${value}`])].join(' ');
}

/** The text without one of its words. */
export function withoutWord(text: string, typed: string): string {
  return splitWords(text)
    .map((one) => one.typed)
    .filter((one) => one !== typed)
    .join(' ');
}
