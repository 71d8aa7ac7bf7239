/**
 * What is typed into the search box, as the filters of `GET /suppressions`: an address, a domain of recipients, and `reason:`,
 * `domain:` (the sender's), `since:`. Leaves what could not be understood as a sentence. Pure.
 */
import type { Query } from '../../api/call.ts';
import { addressOf, instantOf, NO_INSTANT, splitWords } from '../../components/search-text.ts';
import { REASONS } from './reasons.ts';

export interface SuppressionSearch {
  filters: Query;
  /** What is wrong with the words; null = nothing. */
  problem: string | null;
}

/** Words that the box understands, each with an example. */
export const SEARCH_EXAMPLES = 'Address, its domain, reason:, domain:, since:';

export function readSearch(text: string, nowMs: number): SuppressionSearch {
  const filters: Record<string, string> = {};
  let problem: string | null = null;
  for (const { word } of splitWords(text)) {
    const colon = word.indexOf(':');
    const name = word.slice(0, Math.max(colon, 0)).toLowerCase();
    const value = word.slice(colon + 1);
    if (colon > 0 && value === '') problem = `${name}: needs a value behind it`;
    else if (name === 'reason') {
      const reason = REASONS.find(({ word: one }) => one.toLowerCase() === value.toLowerCase());
      if (reason === undefined)
        problem = `reason:${value} is not known; there are ${REASONS.map((one) => one.word).join(', ')}`;
      else filters.Reason = reason.word;
    } else if (name === 'domain') filters.Domain = value;
    else if (name === 'since') {
      const since = instantOf(value, nowMs);
      if (since === null) problem = `since:${value} ${NO_INSTANT}`;
      else filters.Since = since;
    } else if (/^@?[^@]+$/.test(word) && word.includes('.')) filters.RecipientDomain = word.replace(/^@/, '');
    else if (word.includes('@')) filters.Email = addressOf(word) ?? word;
    else problem = `Write a whole address or a whole domain in place of ${word}`;
  }
  return { filters, problem };
}
