/**
 * Finds the kinds of words in a reply, in any language and order: `recipient` and `absent`, `ip` and `list`. The words
 * are data (meanings.json). Linear in the normalised reply, which may contain any characters.
 *
 * A word in the table ends with `*` if it stands for all words with this beginning, and joins adjacent words by `_`.
 * Words of scripts without blanks are found anywhere. The longest match counts. `not` changes words close to it: "not
 * found" is `absent`, "not active" is `closed`, "not accepted" is `blocked`. `ipv4` is an address in digits.
 */
import { readFileSync } from 'node:fs';

/** The most words that an entry of the table joins. */
const MOST_WORDS_JOINED = 3;
const SHORTEST_STEM = 2;
const LONGEST_STEM = 16;
/** A negation affects a word at most this many words away. */
const NEGATION_REACH = 3;
const NEGATED: ReadonlyMap<string, string> = new Map([
  ['exist', 'absent'],
  ['active', 'closed'],
  ['allow', 'blocked'],
]);

const { classes } = JSON.parse(readFileSync(new URL('./meanings.json', import.meta.url), 'utf8')) as {
  classes: Readonly<Record<string, readonly string[]>>;
};

const whole = new Map<string, string[]>();
const stems = new Map<string, string[]>();
const unspaced = new Map<string, string[]>();
for (const [kind, lines] of Object.entries(classes)) {
  for (const word of lines.flatMap((line) => line.split(' '))) {
    const table = /\p{Script=Han}|\p{Script=Hiragana}|\p{Script=Katakana}|\p{Script=Hangul}/u.test(word)
      ? unspaced
      : word.endsWith('*')
        ? stems
        : whole;
    const key = word.replace('*', '');
    table.set(key, [...(table.get(key) ?? []), kind]);
  }
}
/** The longest first: a word that was matched is not searched for shorter words. */
const UNSPACED_WORDS = new RegExp(
  [...unspaced.keys()].sort((one, other) => other.length - one.length).join('|'),
  'g',
);

/**
 * Addresses, links and hosts are names; of a host name only a mention of a blocklist is read. Phrases that say where to
 * read more, or which server the recipient is on, are ignored.
 */
const SAYS_NOTHING =
  /(?<!\S)\S{0,200}@\S{0,200}|https?:\/\/\S{1,300}|\brecipient address(?:es)? rejected(?::|\.?$)|\b(?:for|about) (?:further |more )?(?:details|information|explanation)\b[^.;]{0,80}|\babout this error message\b/g;
/** On this server, in this domain. */
export const HERE = new RegExp(
  [
    '\\b(?:on|at|in) (?:this|our) (?:mail ?)?(?:server|host|domain|system|machine|site)\\b(?! of\\b)',
    '\\b(?:auf|in|bei) (?:diesem|unserem|dieser|unserer) (?:mail-?)?(?:server|system|domain|domane)\\b',
    '\\ben (?:este|nuestro) (?:servidor|dominio|sistema)\\b',
    '\\b(?:sur|dans|chez) (?:ce|notre) (?:serveur|domaine|systeme)\\b',
    '\\b(?:su|in) quest[oa] (?:server|dominio|sistema)\\b',
    '\\bn(?:este|o nosso) (?:servidor|dominio|sistema)\\b',
    '\\b(?:op|in|bij) (?:deze|dit|onze|ons) (?:mail)?(?:server|domein|systeem)\\b',
    '\\b(?:na|w) (?:tym|naszym|tej|naszej) (?:serwerze|systemie|domenie)\\b',
    '(?:^|\\s)(?:на|в) (?:этом|нашем|даннои|данном|цьому|нашому) (?:почтовом |поштовому )?(?:сервере|домене|системе|сервері|домені)',
    '\\bpa (?:denne|den har|vores|var) server(?:en)?\\b',
    '\\b(?:na tomto serveru|v teto domene|bu sunucuda|ezen a szerveren|pe acest server|talla palvelimella)\\b',
  ].join('|'),
  'g',
);
const IP_ADDRESS = /\b\d{1,3}(?:\.\d{1,3}){3}\b|\b[0-9a-f]{1,4}(?::[0-9a-f]{0,4}){3,7}\b/;
const WORD = /[\p{L}\p{N}][\p{L}\p{N}\p{M}'/-]{0,60}(?:\.[\p{L}\p{N}-]{2,60}){0,6}/gu;
/** French: `l'adresse`, `n'existe`. */
const ELIDED = /^([cdjlnst]|qu)'/;
/** A letter of a language that writes words without spaces between them. */
export const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u;

/** The kinds of one word. */
export function kindsOf(word: string): ReadonlySet<string> {
  const kinds = new Set(whole.get(word));
  const longest = Math.min(word.length, LONGEST_STEM);
  for (let length = SHORTEST_STEM; length <= longest; length += 1)
    for (const kind of stems.get(word.slice(0, length)) ?? []) kinds.add(kind);
  return kinds;
}

/** The kinds of words in a normalised reply. */
export function meaningsOf(subject: string): ReadonlySet<string> {
  const said = new Set<string>();
  const text = subject
    .replace(/^\d{3} (?:\d\.\d{1,3}\.\d{1,3} )?/, '')
    .replace(SAYS_NOTHING, ' ')
    .replace(HERE, ' ');
  if (IP_ADDRESS.test(text)) said.add('ipv4');
  if (UNSPACED.test(text))
    for (const word of text.match(UNSPACED_WORDS) ?? [])
      for (const kind of unspaced.get(word) ?? []) said.add(kind);
  const words = text.match(WORD) ?? [];
  let sinceNot = Number.POSITIVE_INFINITY;
  /** The kind that a following `not` would change, and how many words ago it was. */
  let turnable: string | undefined;
  let sinceTurnable = Number.POSITIVE_INFINITY;
  /** Words before this index were matched together with others. */
  let joinedUntil = 0;
  words.forEach((joined, at) => {
    sinceNot += 1;
    sinceTurnable += 1;
    const elided = ELIDED.exec(joined)?.[1];
    const word = elided === undefined ? joined : joined.slice(elided.length + 1);
    if (elided === 'n') sinceNot = 0;
    if (word.includes('.')) {
      for (const part of word.split('.')) if (kindsOf(part).has('list')) said.add('list');
      return;
    }
    for (let count = Math.min(MOST_WORDS_JOINED, words.length - at); count > 1; count -= 1) {
      const together = whole.get(words.slice(at, at + count).join('_'));
      if (together === undefined) continue;
      for (const kind of together) said.add(kind);
      joinedUntil = Math.max(joinedUntil, at + count);
    }
    if (at < joinedUntil) return;
    const kinds = kindsOf(word);
    for (const kind of kinds) {
      if (kind === 'not') {
        sinceNot = 0;
        if (turnable !== undefined && sinceTurnable <= NEGATION_REACH) said.add(turnable);
      } else if (!NEGATED.has(kind)) said.add(kind);
    }
    for (const [kind, turned] of NEGATED) {
      if (!kinds.has(kind)) continue;
      if (sinceNot <= NEGATION_REACH) said.add(turned);
      turnable = turned;
      sinceTurnable = 0;
    }
  });
  return said;
}
