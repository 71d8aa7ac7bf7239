/**
 * Adds personal links to HTML: hrefs are replaced by our redirect, a pixel is added, and the token slots are recorded.
 * Every character outside the replaced values stays the same. The MIME writer turns the slots into offsets of octets.
 */
import { MAX_LINKS, targetDigest } from '../../mail/personal-token.ts';
import { type PersonalOptions, placeholder, type TokenSlot } from '../../model/personal.ts';
import { findLinks } from './html-links.ts';

export interface PersonalText {
  text: string;
  /** In order; offsets count UTF-16 units of `text`. */
  places: readonly TokenSlot[];
}

/**
 * The unchanged text without slots if nothing in it can be tracked. `firstLink`: the number of links in earlier parts.
 */
export function personalHtml(
  html: string,
  options: Pick<PersonalOptions, 'base' | 'opens' | 'clicks'>,
  firstLink = 0,
  asciiLinksOnly = false,
): PersonalText {
  if (!options.opens && !options.clicks) return { text: html, places: [] };
  const { links, pixelAt } = findLinks(html, options.clicks ? MAX_LINKS - firstLink : 0, asciiLinksOnly);
  const places: TokenSlot[] = [];
  let text = '';
  let copied = 0;
  const put = (kind: 'open' | 'click', link: number, digest: string): void => {
    places.push({ kind, offset: text.length, link, digest });
    text += placeholder(kind);
  };
  const addPixel = (at: number): void => {
    text += `${html.slice(copied, at)}<img src="${options.base}/o/`;
    put('open', 0, '');
    text += '" width="1" height="1" alt="" style="border:0">';
    copied = at;
  };
  let pixel = options.opens ? pixelAt : null;
  links.forEach(({ start, end, bare, target }, i) => {
    if (pixel !== null && pixel < start) {
      addPixel(pixel);
      pixel = null;
    }
    text += `${html.slice(copied, start)}${bare ? '"' : ''}${options.base}/c/`;
    put('click', firstLink + i, targetDigest(target));
    text += `/${Buffer.from(target, 'latin1').toString('base64url')}${bare ? '"' : ''}`;
    copied = end;
  });
  if (pixel !== null) addPixel(pixel);
  return { text: text + html.slice(copied), places };
}
