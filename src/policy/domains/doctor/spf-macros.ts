/**
 * The macros of SPF (RFC 7208 §7): checks the text of a term and expands it for our mail. Texts come from strangers. What our
 * mail cannot know in advance, such as the local part of its return path, has no expansion.
 */
import { reverseName } from '../../../net/ip-address.ts';
import type { SendingAddress } from './instance-facts.ts';

/** What macros stand for (RFC 7208 §7.2). null = not known. */
export interface SpfMacros {
  /** Local part and domain of the return path. */
  local: string | null;
  domain: string;
  /** The domain whose record is read. */
  current: string;
  from: SendingAddress | null;
}

const MAX_NAME = 253;
/** A percent sign stands for nothing else (RFC 7208 §7.1): the letter of the value, how many parts, reversed, cut where. */
const MACRO = /%(?:\{([slodiphv])(0{0,2}[1-9]\d{0,2})?(r?)([-.+,/_=]{0,9})\}|([%_-]))/gi;
/** The last label of a name, which must not be a number. */
const NAME_END = /\.(?!-|\d+\.?$)[a-z0-9-]+\.?$/i;
/** Stands for what is not known until it is clear whether the expansion has any of it. */
const NOT_KNOWN = '\0';

/** The text with `\0` in place of each macro. */
export function withoutMacros(text: string): string {
  return text.replace(MACRO, NOT_KNOWN);
}

/** Whether it is a name of at least two labels that ends as RFC 7208 §7.1 requires, or with a macro. */
export function isDomainSpec(value: string): boolean {
  const plain = withoutMacros(value);
  return value.length <= 255 && !/[%\s]/.test(plain) && (plain.endsWith(NOT_KNOWN) || NAME_END.test(plain));
}

/** The text of a term with its macros expanded (RFC 7208 §7.3). null: it depends on what is not known. */
export function expandSpf(text: string, macros: SpfMacros): string | null {
  const expanded = text.replace(
    MACRO,
    (_, letter: string | undefined, digits: string | undefined, reversed, cuts, sign) => {
      if (letter === undefined) return sign === '%' ? '%' : sign === '_' ? ' ' : '%20';
      const cutAt = cuts === '' ? '.' : cuts;
      const parts = [''];
      for (const char of macroValue(letter.toLowerCase(), macros)) {
        if (cutAt.includes(char)) parts.push('');
        else parts[parts.length - 1] += char;
      }
      if (reversed !== '') parts.reverse();
      const value = parts.slice(digits === undefined ? 0 : -Number(digits)).join('.');
      return letter > 'Z' || value.includes(NOT_KNOWN) ? value : urlEscaped(value);
    },
  );
  return expanded.includes(NOT_KNOWN) ? null : shortened(expanded);
}

/** The validated name of the address (`p`) is not known: receivers need not look for it. */
function macroValue(letter: string, { local, domain, current, from }: SpfMacros): string {
  const named = local ?? NOT_KNOWN;
  switch (letter) {
    case 's':
      return `${named}@${domain}`;
    case 'l':
      return named;
    case 'o':
      return domain;
    case 'd':
      return current;
    case 'h':
      return from?.ehlo ?? NOT_KNOWN;
  }
  const reverse = from === null ? undefined : reverseName(from.address);
  if (from === null || reverse === undefined || letter === 'p') return NOT_KNOWN;
  const [kind = ''] = reverse.split('.').slice(-2);
  if (letter === 'v') return kind;
  return reverse.slice(0, -`.${kind}.arpa`.length).split('.').reverse().join('.');
}

function urlEscaped(value: string): string {
  const octets = [...Buffer.from(value)];
  return octets
    .map((octet) => String.fromCharCode(octet))
    .map((char) =>
      /[\w.~-]/.test(char) ? char : `%${Buffer.from(char, 'latin1').toString('hex').toUpperCase()}`,
    )
    .join('');
}

/** Of a name that is too long, labels on the left are left out. */
function shortened(name: string): string {
  let rest = name;
  while (rest.length > MAX_NAME && rest.includes('.')) rest = rest.slice(rest.indexOf('.') + 1);
  return rest;
}
