/**
 * Records the commands and replies of one transaction (or of opening a session), for people who examine a failure. It
 * stores only references; the text is made on request, because it is rarely needed and this runs for every message. It
 * is a class because closures per message cost more than all the rest. About 8 KiB are kept from the start, then only
 * the latest few entries. Secrets are never passed to it.
 */
import type { Reply } from './reply.ts';

/** Read access to a record. */
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

/**
 * The lines of an entry, each with `start` in front. Built as one text, because this runs for every delivered message.
 */
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

/** A record of one conversation; times are monotonic milliseconds. */
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

  /** Adds a command (or several, separated by CRLF), a reply, or the number of body octets sent. */
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
    // The end contains the result, so the middle of a text that is too long is left out.
    if (text.length <= MAX_CHARS) return text;
    return `${text.slice(0, MAX_CHARS - 2100)}\n(…)\n${text.slice(-2048)}`;
  }
}
