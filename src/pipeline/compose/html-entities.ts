/**
 * Decodes the character references of HTML that occur in mail: numeric ones, Latin-1, and common punctuation; an
 * unknown or unfinished reference stays as written. One pass; a name has at most 32 characters.
 */

const MAX_NAME = 32;

/** Names of U+00A0–U+00FF in order (HTML 4 §24.2.1). */
const LATIN_1 =
  'nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg plusmn sup2 sup3 ' +
  'acute micro para middot cedil sup1 ordm raquo frac14 frac12 frac34 iquest Agrave Aacute Acirc Atilde Auml ' +
  'Aring AElig Ccedil Egrave Eacute Ecirc Euml Igrave Iacute Icirc Iuml ETH Ntilde Ograve Oacute Ocirc Otilde ' +
  'Ouml times Oslash Ugrave Uacute Ucirc Uuml Yacute THORN szlig agrave aacute acirc atilde auml aring aelig ' +
  'ccedil egrave eacute ecirc euml igrave iacute icirc iuml eth ntilde ograve oacute ocirc otilde ouml divide ' +
  'oslash ugrave uacute ucirc uuml yacute thorn yuml';

const OTHERS =
  'amp:26 lt:3c gt:3e quot:22 apos:27 OElig:152 oelig:153 Scaron:160 scaron:161 Yuml:178 fnof:192 circ:2c6 ' +
  'tilde:2dc ensp:2002 emsp:2003 thinsp:2009 zwnj:200c zwj:200d lrm:200e rlm:200f ndash:2013 mdash:2014 ' +
  'lsquo:2018 rsquo:2019 sbquo:201a ldquo:201c rdquo:201d bdquo:201e dagger:2020 Dagger:2021 bull:2022 ' +
  'hellip:2026 permil:2030 prime:2032 Prime:2033 lsaquo:2039 rsaquo:203a euro:20ac trade:2122 larr:2190 ' +
  'uarr:2191 rarr:2192 darr:2193 harr:2194 rArr:21d2 minus:2212 infin:221e asymp:2248 ne:2260 le:2264 ge:2265 ' +
  'sum:2211 radic:221a check:2713 star:2606 starf:2605 hearts:2665 spades:2660 clubs:2663 diams:2666 loz:25ca ' +
  'num:23 excl:21 dollar:24 percnt:25 lpar:28 rpar:29 ast:2a plus:2b comma:2c period:2e sol:2f colon:3a ' +
  'semi:3b equals:3d quest:3f commat:40 lsqb:5b rsqb:5d lowbar:5f Tab:9 NewLine:a ZeroWidthSpace:200b alpha:3b1 ' +
  'beta:3b2 gamma:3b3 delta:3b4 pi:3c0 mu:3bc Omega:3a9 omega:3c9';

const NAMED = new Map<string, string>([
  ...LATIN_1.split(' ').map((name, i): [string, string] => [name, String.fromCharCode(0xa0 + i)]),
  ...OTHERS.split(' ').map((entry): [string, string] => {
    const [name = '', code = ''] = entry.split(':');
    return [name, String.fromCodePoint(Number.parseInt(code, 16))];
  }),
]);

/** The characters of windows-1252 at 0x80–0x9F, which numeric references in this range mean (HTML §13.2.5.80). */
const WINDOWS_1252 = '€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ';

/** Replaces character references that end in `;` by their characters. */
export function decodeEntities(text: string): string {
  let at = text.indexOf('&');
  if (at < 0) return text;
  let out = '';
  let copied = 0;
  while (at >= 0) {
    const semicolon = referenceEnd(text, at + 1);
    const decoded = semicolon < 0 ? undefined : decodeReference(text.slice(at + 1, semicolon));
    if (decoded !== undefined) {
      out += text.slice(copied, at) + decoded;
      copied = semicolon + 1;
    }
    at = text.indexOf('&', at + 1);
  }
  return out + text.slice(copied);
}

function referenceEnd(text: string, from: number): number {
  const end = Math.min(text.length, from + MAX_NAME);
  for (let i = from; i < end; i++) {
    const code = text.charCodeAt(i);
    if (code === 59) return i;
    const isNameCharacter =
      (code >= 48 && code <= 57) || (code >= 65 && code <= 90) || (code >= 97 && code <= 122) || code === 35;
    if (!isNameCharacter) return -1;
  }
  return -1;
}

function decodeReference(name: string): string | undefined {
  if (name[0] !== '#') return NAMED.get(name);
  const hex = name[1] === 'x' || name[1] === 'X';
  const digits = name.slice(hex ? 2 : 1);
  if (!(hex ? /^[0-9a-f]+$/i : /^[0-9]+$/).test(digits)) return undefined;
  const code = Number.parseInt(digits, hex ? 16 : 10);
  if (code >= 0x80 && code <= 0x9f) return WINDOWS_1252[code - 0x80];
  if (code === 0 || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return '\ufffd';
  return String.fromCodePoint(code);
}
