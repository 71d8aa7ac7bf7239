/** Why an address is on the list, in words; the words of the API stay in the address of the page. */

export const REASONS = [
  { word: 'Bounce', name: 'Bounced', meaning: 'Its server said that there is no such mailbox.' },
  { word: 'Inactive', name: 'Inactive', meaning: 'Its server said that nobody uses the mailbox.' },
  { word: 'SoftBounces', name: 'Soft bounces', meaning: 'It refused mail on several days.' },
  { word: 'Complaint', name: 'Complained', meaning: 'The reader marked mail as spam.' },
  {
    word: 'Unsubscribe',
    name: 'Unsubscribed',
    meaning: 'The reader wants no more newsletters; other mail is sent.',
  },
  { word: 'Manual', name: 'By hand', meaning: 'Somebody put it on the list.' },
] as const;

/** To choose one of. */
export const REASON_OPTIONS = REASONS.map(({ word, name }) => [word, name] as const);

export type ReasonWord = (typeof REASONS)[number]['word'];

export function reasonName(word: string): string {
  return REASONS.find((one) => one.word === word)?.name ?? word;
}

export function reasonMeaning(word: string): string {
  return REASONS.find((one) => one.word === word)?.meaning ?? '';
}

export const WHOSE_LIST = 'Whose mail these addresses do not get. Each domain has a list of its own.';
