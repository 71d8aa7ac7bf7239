/** The `Prefer` header (RFC 7240): the one preference this API knows is `handling=strict`. */

const STRICT = /^[ \t]{0,8}handling[ \t]{0,8}=[ \t]{0,8}"?strict"?[ \t]{0,8}$/i;

/** Whether unknown properties are refused; false if the header is absent or different. */
export function prefersStrict(header: string | undefined): boolean {
  if (header === undefined || header.length > 1024) return false;
  return header.split(',').some((part) => STRICT.test(part.split(';', 1)[0] ?? ''));
}
