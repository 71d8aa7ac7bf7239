/**
 * The multiparts of a message whose closing boundary has not been read yet (RFC 2046 §5.1.1), from the outermost to the
 * innermost, and which of them a line belongs to. A line is compared with all boundaries at once, octet by octet: each
 * boundary is one bit, and a table tells which boundaries have an octet at a position. So a line costs no more than its
 * own octets, however many boundaries are open and however alike they are.
 */

/** At most so many boundaries may be open: the bits of an element of the table. */
export const MAX_BOUNDARIES = 16;

const OCTETS = 256;
/** Blanks behind a boundary; a line with more is no boundary line. */
const MAX_PADDING = 64 * 1024;
const TAB = 9;
const LF = 10;
const CR = 13;
const SPACE = 32;
const HYPHEN = 45;

export interface Boundary {
  /** How many parts are open when this multipart is the innermost one. */
  readonly depth: number;
  /** The default type of its parts. */
  readonly partType: string;
}

/** A boundary line: `next` is the start of the line after it. */
interface Delimiter {
  readonly boundary: Boundary;
  readonly isClosing: boolean;
  readonly next: number;
}

interface OpenBoundaries {
  readonly count: () => number;
  /** Opens a multipart inside the others; `text` has no line end. */
  push(text: string, boundary: Boundary): void;
  /** Closes the innermost. */
  pop(): void;
  innermost(): Boundary | undefined;
  /** The boundary line at `lineStart`, which begins with `--`; of several that match, the innermost. */
  delimiterAt(lineStart: number): Delimiter | null;
}

export function createOpenBoundaries(source: Uint8Array): OpenBoundaries {
  const open: { octets: Uint8Array; boundary: Boundary }[] = [];
  /** For each position in a boundary, 256 elements: the boundaries that have the octet there. */
  let having = new Uint16Array(0);
  /** By length: the boundaries that end there. */
  let ending = new Uint16Array(0);
  // The blanks that were looked at last, and what is behind them.
  let blanksFrom = -1;
  let blanksEnd = -1;
  let behindBlanks = -1;

  return {
    count: () => open.length,
    push(text, boundary) {
      const octets = Buffer.from(text);
      if (octets.length >= ending.length) {
        // At its end each boundary has a row without any octet.
        const wider = new Uint16Array((octets.length + 1) * OCTETS);
        wider.set(having);
        having = wider;
        const longer = new Uint16Array(octets.length + 1);
        longer.set(ending);
        ending = longer;
      }
      flip(octets, 1 << open.length);
      open.push({ octets, boundary });
    },
    pop() {
      const last = open.pop();
      if (last !== undefined) flip(last.octets, 1 << open.length);
    },
    innermost: () => open.at(-1)?.boundary,
    delimiterAt(lineStart) {
      let alike = (1 << open.length) - 1;
      let found = 0;
      let isClosing = false;
      let next = -1;
      for (let at = lineStart + 2, i = 0; alike !== 0; at += 1, i += 1) {
        // The end of the text ends its last line.
        const octet = at < source.length ? (source[at] as number) : LF;
        const ended = alike & (ending[i] as number);
        // The higher number has the higher bit, and so the inner boundary.
        if (ended > found && (octet <= SPACE || octet === HYPHEN)) {
          const closes = octet === HYPHEN && source[at + 1] === HYPHEN;
          const behind = behindPadding(closes ? at + 2 : at);
          if (behind !== -1) {
            found = ended;
            isClosing = closes;
            next = behind;
          }
        }
        alike &= having[i * OCTETS + octet] as number;
      }
      if (found === 0) return null;
      const { boundary } = open[31 - Math.clz32(found)] as { boundary: Boundary };
      return { boundary, isClosing, next };
    },
  };

  function flip(octets: Uint8Array, bit: number): void {
    for (const [i, octet] of octets.entries()) {
      const at = i * OCTETS + octet;
      having[at] = (having[at] as number) ^ bit;
    }
    ending[octets.length] = (ending[octets.length] as number) ^ bit;
  }

  /**
   * The start of the next line if only blanks are left on this one, otherwise -1: a longer boundary belongs to another
   * multipart. Boundaries may differ in blanks at their end, and still each blank is looked at once.
   */
  function behindPadding(from: number): number {
    if (from < blanksFrom || from > blanksEnd) {
      const limit = Math.min(source.length, from + MAX_PADDING);
      let at = from;
      while (at < limit && (source[at] === SPACE || source[at] === TAB)) at += 1;
      blanksFrom = from;
      blanksEnd = at;
      if (source[at] === CR) at += 1;
      behindBlanks = at >= source.length ? source.length : source[at] === LF ? at + 1 : -1;
    }
    return behindBlanks;
  }
}
