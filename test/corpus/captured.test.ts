/**
 * Codes and links in mails as people get them, in many languages: the best of each comes first, and what only looks like a
 * code (years, postcodes, telephone numbers, orders, prices) is none. README.md says how the mails came to be.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { codesAndLinks } from '../../src/listeners/http/sandbox/captured-mail.ts';

interface Mail {
  lang: string;
  subject: string;
  text?: string;
  html?: string;
  /** First of `Codes`; null = there is none. */
  code: string | null;
  /** First of `Links`; null = there may be any. */
  link: string | null;
}

const MAILS = readFileSync(new URL('captured/mails.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as Mail);

describe('codes and links of captured mail', () => {
  it('are tried on at least 60 mails in 12 languages', () => {
    expect(MAILS.length).toBeGreaterThanOrEqual(60);
    expect(new Set(MAILS.map(({ lang }) => lang)).size).toBeGreaterThanOrEqual(12);
  });

  it.each(MAILS.map((mail) => [mail.lang, mail.subject, mail] as const))('%s: %s', (_, subject, mail) => {
    const { codes, links } = codesAndLinks({ subject, text: mail.text ?? '', html: mail.html ?? '' });
    expect([codes[0] ?? null, mail.code === null ? codes : []]).toEqual([mail.code, []]);
    if (mail.link !== null) expect(links[0]).toBe(mail.link);
    if (mail.html === undefined) return;
    // The same mail with a text part that says nothing.
    const both = codesAndLinks({ subject, text: 'View this mail in a browser.', html: mail.html });
    expect([both.codes[0] ?? null, both.links]).toEqual([mail.code, links]);
  });
});
