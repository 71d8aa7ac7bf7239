/**
 * The page that shows the HTML of a captured message in a browser. The HTML is not trusted and is made harmless in three ways:
 * the Content-Security-Policy of the answer lets nothing run or load; the page repeats that policy in a `meta` element, for
 * programs that show it from a string; and what connects before a policy applies (an `iframe` does, as measured) or runs
 * when it is clicked is removed. That is found by its characters anywhere in the text, without parsing the HTML, because a
 * browser could parse it differently.
 */

/** Remote pictures only on request, because loading them tells the sender that the mail was opened. */
function shownPolicy(remoteImages: boolean): string {
  const from = remoteImages ? 'data: https: http:' : 'data:';
  return `default-src 'none'; img-src ${from}; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'`;
}

/** What the page may do: show itself, with its embedded pictures; only pages of this origin may frame it. */
export function pagePolicy(remoteImages: boolean): string {
  return `sandbox; ${shownPolicy(remoteImages)}; frame-ancestors 'self'`;
}

/** Embedded pictures are inserted wherever they are referred to, up to so many characters in all; the rest are left out. */
const MAX_PICTURE_CHARS = 48 * 1024 * 1024;

/** Elements that load or navigate without a click, and those that can change an attribute later. */
const REFUSED_ELEMENT =
  /<(\/?)(link|meta|base|i?frame|frameset|object|embed|portal|fencedframe|set|animate|animatemotion|animatetransform)(?![a-z0-9-])/gi;

/** Attributes that hold an address, up to where their value begins. */
const ADDRESS = /(?:href|src|action|data|background|poster|cite|longdesc|lowsrc|dynsrc)(?=[\t\n\f\r ]*=)/gi;
/**
 * The start of an allowed address: a web page, a mailbox, a telephone, an embedded picture, a fragment, or a relative one, in
 * which no colon ends the first word. One with a character reference or a line break is not allowed.
 */
const HARMLESS =
  /[\t\n\f\r ]*=[\t\n\f\r ]*(?:["']? ?(?:https?:|mailto:|tel:|sms:|cid:|data:image\/|[#/?])|"[\w.~%-]{0,200}["/?#]|'[\w.~%-]{0,200}['/?#]|[\w.~%-]{1,200}[\t\n\f\r />?#]|>)/iy;

/** A page that loads nothing, or pictures at the most: see the head of this file. `pictures`: data URLs by content id. */
export function pageOf(html: string, pictures: ReadonlyMap<string, string>, remoteImages = false): string {
  let left = MAX_PICTURE_CHARS;
  const shown = harmlessHtml(html).replace(/cid:([^"'\s)<>]{1,512})/gi, (whole, id: string) => {
    const picture = pictures.get(id) ?? pictures.get(decoded(id));
    if (picture === undefined || picture.length > left) return whole;
    left -= picture.length;
    return picture;
  });
  return `<!doctype html><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${shownPolicy(remoteImages)}"><meta name="referrer" content="no-referrer">\n${shown}`;
}

/** HTML without what connects before a policy is asked, and without what runs once it is clicked. */
export function harmlessHtml(html: string): string {
  return withoutTargets(html.replace(REFUSED_ELEMENT, '<$1x-$2'));
}

/** Addresses that could run something (`javascript:`, `data:text/html`, …) are attributes of another name. */
function withoutTargets(html: string): string {
  return html.replace(ADDRESS, (name, at: number) => {
    HARMLESS.lastIndex = at + name.length;
    return HARMLESS.test(html) ? name : `x-${name}`;
  });
}

function decoded(id: string): string {
  try {
    return decodeURIComponent(id.replaceAll('&amp;', '&'));
  } catch {
    return id;
  }
}
