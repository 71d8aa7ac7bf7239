/**
 * What was said in one transaction (or while opening a session), for the person who looks into a failure.
 * Given: commands, replies and the octets of a body with their times. Leaves behind: references only; the text is made
 * when somebody asks, because nearly nobody does and this runs once per message. A class for the same reason: closures
 * per message cost more than the rest of it.
 * Bounded: about 8 KiB is kept from the start, then only the latest few entries. Secrets never come here.
 */
import type { Reply } from './reply.ts';

/** A read-only view of what was said. */
export interface ConversationLog {
  /** One line per command or reply line: milliseconds since the start, `C:` or `S:`, text. At most about 8 KiB. */
  text(): string;
}

/** A command or note, a reply, or a number of body octets. */
type Entry = string | Reply | number;

const MAX_CHARS = 8 * 1024;
const TAIL_ENTRIES = 4;
const MAX_ENTRY_CHARS = 1024;

function sizeOf(entry: Entry): number {
  if (typeof entry === 'number') return 32;
  return Math.min(typeof entry === 'string' ? entry.length : entry.text.length, MAX_ENTRY_CHARS) + 16;
}

/** The entry's lines, each begun with `start`. Built as one text: this runs for every message that is delivered. */
function linesOf(entry: Entry, start: string): string {
  if (typeof entry === 'number') return `${start}C: (${entry} octets of message)`;
  if (typeof entry === 'string') {
    const shown = entry.slice(0, MAX_ENTRY_CHARS).trimEnd();
    return `${start}C: ${shown.replaceAll('\r\n', `${start}C: `)}`;
  }
  let shown = '';
  let chars = 0;
  for (let i = 0; i < entry.lines.length && chars <= MAX_ENTRY_CHARS; i += 1) {
    const line = entry.lines[i] as string;
    chars += line.length;
    const separator = i === entry.lines.length - 1 ? ' ' : '-';
    shown += `${start}S: ${entry.code}${separator}${line.slice(0, MAX_ENTRY_CHARS)}`.trimEnd();
  }
  return shown;
}

/** Records one conversation; times are monotonic milliseconds. */
export class Conversation implements ConversationLog {
  private readonly startMs: number;
  private readonly times: number[] = [];
  private readonly entries: Entry[] = [];
  private chars = 0;
  private headEntries = 0;
  private dropped = 0;

  constructor(startMs: number) {
    this.startMs = startMs;
  }

  /** Adds a command (CRLF between several), a reply, or the number of body octets sent. */
  add(atMs: number, entry: Entry): void {
    this.entries.push(entry);
    this.times.push(atMs);
    if (this.chars <= MAX_CHARS) {
      this.chars += sizeOf(entry);
      this.headEntries += 1;
    } else if (this.entries.length > this.headEntries + TAIL_ENTRIES) {
      this.entries.splice(this.headEntries, 1);
      this.times.splice(this.headEntries, 1);
      this.dropped += 1;
    }
  }

  text(): string {
    let out = '';
    for (let i = 0; i < this.entries.length; i += 1) {
      if (i === this.headEntries && this.dropped > 0) out += `\n(${this.dropped} more)`;
      const offset = Math.round((this.times[i] ?? this.startMs) - this.startMs);
      out += linesOf(this.entries[i] as Entry, `\n${offset} `);
    }
    const text = out.slice(1);
    // The end says how it went: of an over-long text the middle goes.
    if (text.length <= MAX_CHARS) return text;
    return `${text.slice(0, MAX_CHARS - 2100)}\n(…)\n${text.slice(-2048)}`;
  }
}
