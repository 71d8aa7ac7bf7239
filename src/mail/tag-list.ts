/**
 * Lists of tags, as in DKIM signatures, keys and DMARC records (`v=1; a=b`, RFC 6376 §3.2). Returns values by name;
 * invalid tags are skipped, and of repeated names the first counts. One pass; never fails.
 */

/**
 * Names and values are trimmed; `maxTags`: further ones are dropped. `nameOf`: converts names whose case does not
 * matter.
 */
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
