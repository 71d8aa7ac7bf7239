/**
 * What is typed into the search box, as the filters of the API: `from:ada@example.com subject:"sign in" has:attachment`. The
 * words are the API's names in lower case; what has no name is looked for in subject and contents. Leaves what could not be
 * understood as a sentence, and no filter for it.
 */
import type { Query } from '../../api/call.ts';
import { instantOf, NO_INSTANT, splitWords } from '../../components/search-text.ts';

export interface Search {
  filters: Query;
  /** What is wrong with the words; null = nothing. */
  problem: string | null;
}

const NAMES: Readonly<Record<string, string>> = {
  from: 'From',
  to: 'To',
  subject: 'Subject',
  text: 'Text',
  tag: 'Tag',
  domain: 'Domain',
  inbox: 'Inbox',
  since: 'Since',
  until: 'Until',
};
const FLAGS: Readonly<Record<string, readonly [string, boolean]>> = {
  'has:attachment': ['HasAttachment', true],
  'is:unread': ['Seen', false],
  'is:read': ['Seen', true],
};

/** Names that the box offers, each with an example. */
export const SEARCH_HELP = [
  ['from:ada@example.com', 'address of the sender'],
  ['to:you@example.net', 'address of a recipient'],
  ['subject:"sign in"', 'the subject holds this'],
  ['text:invoice, or just invoice', 'subject or contents hold this'],
  ['tag:welcome', 'has this tag'],
  ['has:attachment', 'brings files'],
  ['is:unread', 'nobody has looked at it'],
  ['since:2h until:2026-12-24', 'when it was captured: an age (m, h, d, w) or a date'],
] as const;

export function readSearch(text: string, nowMs: number): Search {
  const filters: Record<string, string | boolean> = {};
  const free: string[] = [];
  let problem: string | null = null;
  for (const { word } of splitWords(text)) {
    const colon = word.indexOf(':');
    const name = word.slice(0, colon).toLowerCase();
    const flag = FLAGS[word.toLowerCase()];
    const known = colon > 0 ? NAMES[name] : undefined;
    if (flag !== undefined) filters[flag[0]] = flag[1];
    else if (known === undefined) free.push(word);
    else {
      const value = word.slice(colon + 1);
      const at = name === 'since' || name === 'until' ? instantOf(value, nowMs) : value;
      if (value === '') problem = `${name}: needs a value behind it`;
      else if (at === null) problem = `${name}:${value} ${NO_INSTANT}`;
      else filters[known] = at;
    }
  }
  if (free.length > 0) filters.Text = [filters.Text, ...free].filter(Boolean).join(' ');
  return { filters, problem };
}
