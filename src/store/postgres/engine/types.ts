/**
 * How columns are read: integers as numbers, which must be below 2^53, bytes as Uint8Array, everything else as text.
 */

const BOOL = 16;
const BYTEA = 17;
const INT8 = 20;
const INT2 = 21;
const INT4 = 23;
const FLOAT4 = 700;
const FLOAT8 = 701;
const TEXTS = 1009;
const INT8S = 1016;
const NUMERIC = 1700;

/** For pg. */
export const types = {
  getTypeParser(oid: number): (text: string) => unknown {
    switch (oid) {
      case BOOL:
        return (text) => text === 't';
      case BYTEA:
        return bytesOf;
      case INT8:
      case NUMERIC:
        return wholeNumber;
      case INT2:
      case INT4:
      case FLOAT4:
      case FLOAT8:
        return Number;
      case TEXTS:
        return elementsOf;
      case INT8S:
        return (text) => elementsOf(text).map((element) => wholeNumber(element ?? ''));
      default:
        return same;
    }
  },
};

function same(text: string): unknown {
  return text;
}

/** Bytes of a text such as `\x00ff`: pg reads results as text only. */
function bytesOf(text: string): Uint8Array {
  const { buffer, byteOffset, length } = Buffer.from(text.slice(2), 'hex');
  return new Uint8Array(buffer, byteOffset, length);
}

function wholeNumber(text: string): number {
  const number = Number(text);
  if (!Number.isSafeInteger(number)) throw new RangeError(`The database holds a number over 2^53: ${text}`);
  return number;
}

/** The elements of `{a,"b \"c\"",NULL}`; one dimension. */
function elementsOf(text: string): (string | null)[] {
  const elements: (string | null)[] = [];
  let at = 1;
  while (at < text.length - 1) {
    if (text[at] === '"') {
      let element = '';
      for (at += 1; text[at] !== '"'; at += 1) {
        if (text[at] === '\\') at += 1;
        element += text[at];
      }
      elements.push(element);
      at += 2;
    } else {
      const comma = text.indexOf(',', at);
      const end = comma === -1 ? text.length - 1 : comma;
      const element = text.slice(at, end);
      elements.push(element === 'NULL' ? null : element);
      at = end + 1;
    }
  }
  return elements;
}
