/**
 * Lists of tags, as DKIM signatures, keys and DMARC records are (`v=1; a=b`, RFC 6376 §3.2). Given a text, leaves values by
 * name; what is no tag is passed over, and of a repeated one the first counts. One pass; cannot fail.
 */

/** Names and values are trimmed; `maxTags`: further ones are left out. `nameOf`: where case says nothing. */
export function readTagList(
  text: string,
  maxTags: number,
  nameOf: (name: string) => string = (name) => name,
): ReadonlyMap<string, string> {
  const tags = new Map<string, string>();
  for (const item of text.split(';', maxTags)) {
    const equals = item.indexOf('=');
    const name = nameOf(item.slice(0, Math.max(0, equals)).trim());
    if (name !== '' && !tags.has(name)) tags.set(name, item.slice(equals + 1).trim());
  }
  return tags;
}
