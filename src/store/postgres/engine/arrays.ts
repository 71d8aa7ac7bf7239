/**
 * Arrays as the binary form of PostgreSQL, for `unnest($1::int8[])`: pg writes arrays as text, which costs four times as
 * much and lets bytes grow to twice their size. Takes the elements; returns the value of a parameter, whose cast in the
 * statement names the same type. The form: dimensions, whether there are nulls, type, length, lower bound, then each
 * element with its length, -1 for null.
 */

const HEAD_BYTES = 20;
const INT2 = 21;
const INT4 = 23;
const INT8 = 20;
const BOOL = 16;
const TEXT = 25;
const UUID = 2950;
const BYTEA = 17;

function head(type: number, count: number, bytes: number): Buffer {
  const array = Buffer.allocUnsafe(HEAD_BYTES + bytes);
  array.writeInt32BE(1, 0);
  array.writeInt32BE(1, 4);
  array.writeInt32BE(type, 8);
  array.writeInt32BE(count, 12);
  array.writeInt32BE(1, 16);
  return array;
}

/** Elements of one size; null is NULL. */
function ofSize<Element>(
  type: number,
  size: number,
  elements: readonly (Element | null)[],
  put: (array: Buffer, element: Element, at: number) => void,
): Buffer {
  const array = head(type, elements.length, elements.length * (4 + size));
  let at = HEAD_BYTES;
  for (const element of elements) {
    array.writeInt32BE(element === null ? -1 : size, at);
    at += 4;
    if (element === null) continue;
    put(array, element, at);
    at += size;
  }
  return array.subarray(0, at);
}

/** Whole numbers below 2^53 as `int8[]`. */
export function int8s(elements: readonly (number | null)[]): Buffer {
  return ofSize(INT8, 8, elements, (array, element: number, at) => {
    array.writeInt32BE(Math.floor(element / 2 ** 32), at);
    array.writeUInt32BE(element - Math.floor(element / 2 ** 32) * 2 ** 32, at + 4);
  });
}

/** `int4[]`. */
export function int4s(elements: readonly (number | null)[]): Buffer {
  return ofSize(INT4, 4, elements, (array, element: number, at) => array.writeInt32BE(element, at));
}

/** `int2[]`: codes. */
export function int2s(elements: readonly (number | null)[]): Buffer {
  return ofSize(INT2, 2, elements, (array, element: number, at) => array.writeInt16BE(element, at));
}

/** `bool[]`. */
export function bools(elements: readonly (boolean | null)[]): Buffer {
  return ofSize(BOOL, 1, elements, (array, element: boolean, at) => array.writeUInt8(element ? 1 : 0, at));
}

/** Ids of 16 bytes as `uuid[]`. */
export function uuids(elements: readonly (Uint8Array | null)[]): Buffer {
  return ofSize(UUID, 16, elements, (array, element: Uint8Array, at) => array.set(element, at));
}

/** `text[]`; what a text of PostgreSQL cannot hold becomes U+FFFD. */
export function texts(elements: readonly (string | null)[]): Buffer {
  const kept = elements.map((element) => (element === null ? null : storable(element)));
  const sizes = kept.map((element) => (element === null ? 0 : Buffer.byteLength(element)));
  const array = head(TEXT, kept.length, 4 * kept.length + sizes.reduce((sum, size) => sum + size, 0));
  let at = HEAD_BYTES;
  kept.forEach((element, i) => {
    array.writeInt32BE(element === null ? -1 : (sizes[i] ?? 0), at);
    at += 4;
    if (element !== null) at += array.write(element, at);
  });
  return array;
}

/** `bytea[]`. */
export function byteas(elements: readonly (Uint8Array | null)[]): Buffer {
  const bytes = elements.reduce((sum, element) => sum + (element?.length ?? 0), 0);
  const array = head(BYTEA, elements.length, 4 * elements.length + bytes);
  let at = HEAD_BYTES;
  for (const element of elements) {
    array.writeInt32BE(element?.length ?? -1, at);
    at += 4;
    if (element === null) continue;
    array.set(element, at);
    at += element.length;
  }
  return array;
}

/** A text without NUL, which PostgreSQL cannot store; lone surrogates are replaced when it is written as UTF-8. */
export function storable(text: string): string {
  return text.includes('\0') ? text.replaceAll('\0', '\uFFFD') : text;
}
