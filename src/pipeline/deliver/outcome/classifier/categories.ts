/**
 * The categories: why a delivery did not succeed, with their properties and their names in events. Used by the
 * classifier, the settlement of attempts, the timeline and `postrider explain`.
 */

import { capital } from '../../../../lib/capital.ts';
import { TABLE } from './category-table.ts';
import type { CategoryFacts } from './handling.ts';

export type Category = keyof typeof TABLE;

/** Every category; `Class` in events is its PascalCase. */
export const CATEGORIES = Object.keys(TABLE) as readonly Category[];

/** Only these can suppress an address, and only for replies of high confidence. */
export const SUPPRESSING: readonly Category[] = ['recipient_invalid', 'mailbox_inactive', 'mailbox_full'];

/** The row of `category` with defaults filled in. */
export function categoryFacts(category: Category): CategoryFacts {
  return { suppress: 'no', suppressTemporary: 'no', soft: false, ...TABLE[category] };
}

/** Whether `word` is a category. */
export function isCategory(word: string): word is Category {
  return Object.hasOwn(TABLE, word);
}

/** `mailbox_full` → `MailboxFull`. */
export function pascalCase(category: string): string {
  return category.split('_').map(capital).join('');
}

const byClass = new Map(CATEGORIES.map((category) => [pascalCase(category), category]));

/** The category whose PascalCase is `word` (a bounce object's Class), or null. */
export function categoryOfClass(word: string): Category | null {
  return byClass.get(word) ?? null;
}
