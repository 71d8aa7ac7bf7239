/**
 * The part of a queue's key, besides domains and lane, that decides its route, as one text: those tags of its message
 * that routes name, and its position among the sources of a pool. All rows of one queue therefore have one route. ''
 * stands for neither, as for nearly all mail.
 *
 *   position, or nothing for the first ⏎ tag ⏎ tag …, sorted
 */

/** The parts of a route key. */
export interface RouteKeyParts {
  /** Tags of the message that some route named when the key was made. */
  tags: readonly string[];
  /** Added to the position of the source that sender and recipient domain select, modulo the number of sources. */
  place: number;
}

const NONE: RouteKeyParts = { tags: [], place: 0 };

/** The key of parts; '' without tags at the first position. Tags contain no line breaks. */
export function routeKeyOf({ tags, place }: RouteKeyParts): string {
  const first = place === 0 ? '' : String(place);
  return tags.length === 0 ? first : [first, ...[...tags].sort()].join('\n');
}

/** The parts of a key that `routeKeyOf` made. */
export function routeKeyParts(key: string | undefined): RouteKeyParts {
  if (key === undefined || key === '') return NONE;
  const [place = '', ...tags] = key.split('\n');
  return { tags, place: Number(place) || 0 };
}
