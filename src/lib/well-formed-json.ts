/**
 * JSON that every reader takes. Texts of other servers are cut at a number of characters, which may be within a surrogate
 * pair; `JSON.stringify` writes the half as an escape, which strict readers refuse with all of the document (RFC 8259 §8.2).
 */

/** As `JSON.stringify`, with U+FFFD for each lone surrogate in a value. */
export function wellFormedJson(value: unknown): string {
  const text = JSON.stringify(value);
  // Pairs are written as they are: this begins the escape of a lone one, or was a backslash in the value.
  return text?.includes('\\ud') ? JSON.stringify(value, wellFormed) : text;
}

function wellFormed(_name: string, value: unknown): unknown {
  return typeof value === 'string' ? value.toWellFormed() : value;
}
