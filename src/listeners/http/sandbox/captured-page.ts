/**
 * The page that shows the HTML of a captured message in a browser. The HTML is somebody's, so it is made harmless three
 * times: the answer's policy lets nothing run or load, the page repeats that policy for whoever shows it from a string, and
 * what connects before any policy is asked (measured: an `iframe` does) or runs once it is clicked is taken out. What is
 * taken out is found by the characters themselves, wherever they stand: no reading of the HTML decides, so there is none
 * that a browser could do in another way.
 */

/** With pictures of the web only where somebody asked for them: who sent the mail learns that it was opened. */
function shownPolicy(remoteImages: boolean): string {
  const from = remoteImages ? 'data: https: http:' : 'data:';
  return `default-src 'none'; img-src ${from}; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'`;
}

/** What the page may do: show itself, with pictures that it brings along; in a frame of this origin at most. */
export function pagePolicy(remoteImages: boolean): string {
  return `sandbox; ${shownPolicy(remoteImages)}; frame-ancestors 'self'`;
}

/** Pictures are repeated wherever they are named, up to so many characters in all; beyond that they stay out. */
const MAX_PICTURE_CHARS = 48 * 1024 * 1024;

/** Elements that load or lead elsewhere without a click, and those that change an attribute afterwards. */
const REFUSED_ELEMENT =
  /<(\/?)(link|meta|base|i?frame|frameset|object|embed|portal|fencedframe|set|animate|animatemotion|animatetransform)(?![a-z0-9-])/gi;

/** Attributes that hold an address, up to where their value begins. */
const ADDRESS = /(?:href|src|action|data|background|poster|cite|longdesc|lowsrc|dynsrc)(?=[\t\n\f\r ]*=)/gi;
/**
 * The start of a value that leads to a page, a mailbox, a telephone, a picture or nowhere; or a word that can become no
 * scheme, because it ends without a colon. A character reference or a line break in it is not believed.
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
