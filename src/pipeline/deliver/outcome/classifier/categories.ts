/**
 * One vocabulary for why a delivery did not succeed: the names of the categories, their facts, and the names they have
 * in events. The classifier, the settlement of attempts, the timeline and `postrider explain` all read it.
 */
import { TABLE } from './category-table.ts';
import type { CategoryFacts } from './handling.ts';

export type Category = keyof typeof TABLE;

/** Every category; `Class` in events is its PascalCase. */
export const CATEGORIES = Object.keys(TABLE) as readonly Category[];

/** Only these may ever suppress an address, and only on replies of high confidence. */
export const SUPPRESSING: readonly Category[] = ['recipient_invalid', 'mailbox_inactive', 'mailbox_full'];

/** The row of `category`, defaults filled in. */
export function categoryFacts(category: Category): CategoryFacts {
  return { suppress: 'no', suppressTemporary: 'no', soft: false, ...TABLE[category] };
}

/** Whether `word` is a category. */
export function isCategory(word: string): word is Category {
  return Object.hasOwn(TABLE, word);
}

/** `mailbox_full` → `MailboxFull`. */
export function pascalCase(category: string): string {
  return category
    .split('_')
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('');
}

const byClass = new Map(CATEGORIES.map((category) => [pascalCase(category), category]));

/** The category whose PascalCase is `word` (a bounce object's Class), or null. */
export function categoryOfClass(word: string): Category | null {
  return byClass.get(word) ?? null;
}
