/**
 * Where the log goes: a file descriptor. Text is written in portions and nobody waits for it. What the descriptor does
 * not take (a full disk, a terminal that is gone, a slow reader) is kept and tried again; beyond a limit further lines
 * are lost, and a line tells how many as soon as lines are taken again. So the log can neither stop nor end the process.
 */
import { fstatSync, write as writeLater, writeSync } from 'node:fs';
import type { Clock } from './clock.ts';
import { whyNot } from './why-not.ts';

export interface LogSink {
  write(text: string): void;
  /** Writes what waits before it returns, as far as the descriptor takes it. */
  flush(): void;
  /** Why lines are not written now, or are of no use to anybody; null: they are written. */
  trouble(): string | null;
}

/** Text that is written at once; less waits a moment for more. */
const PORTION_CHARS = 8192;
const WAIT_MS = 200;
/** Text that is kept for a descriptor that takes nothing. */
const MAX_KEPT_CHARS = 8 * 1024 * 1024;
/** A reader that is slow, at the other end of a pipe, is asked again soon; `flush` waits for it for a second at most. */
const SLOW_MS = 10;
const SLOW_TRIES = 100;

/** What journald takes off the beginning of a line (sd-daemon(3)), by our levels. */
const PRIORITIES: Readonly<Record<string, string>> = { debug: '<7>', info: '<6>', warn: '<4>', error: '<3>' };

/** Whether the descriptor leads to the journal of systemd; `stream`: the variable JOURNAL_STREAM (systemd.exec(5)). */
export function isJournal(fd: number, stream: string | undefined): boolean {
  if (stream === undefined) return false;
  try {
    const { dev, ino } = fstatSync(fd);
    return stream === `${dev}:${ino}`;
  } catch {
    return false;
  }
}

/** The same lines, each with its priority before it, so that `journalctl -p warning` finds what it should. */
export function withPriorities(lines: string): string {
  return lines.replace(/^\{"level":"([a-z]{1,9})"/gm, (head, level) => (PRIORITIES[level] ?? '') + head);
}

/** Lines of text, with the priority of errors. */
export function asErrors(text: string): string {
  return text.replace(/^(?=.)/gm, '<3>');
}

/** `journal`: the descriptor leads to it. */
export function createLogSink(fd: number, clock: Clock, { journal = false } = {}): LogSink {
  let kept = '';
  /** What is written now, or was not taken. */
  let portion: Uint8Array = new Uint8Array(0);
  let isWriting = false;
  let isWaiting = false;
  let isRefused = false;
  /** Of a portion that was refused, unless the reader is only slow. */
  let refusal: string | null = null;
  let lost = 0;

  return {
    write(text) {
      if (kept.length + text.length > MAX_KEPT_CHARS) {
        lost += text.split('\n').length - 1;
        return;
      }
      kept += text;
      if (kept.length < PORTION_CHARS || isRefused) wait();
      else begin();
    },
    flush() {
      // A portion that is being written goes its own way.
      let rest: Uint8Array = isWriting ? octetsOf(kept) : Buffer.concat([portion, octetsOf(kept)]);
      kept = '';
      for (let tries = 0; rest.length > 0 && tries < SLOW_TRIES; ) {
        try {
          rest = rest.subarray(writeSync(fd, rest));
        } catch (cause) {
          if (!isSlow(cause)) break;
          tries += 1;
          Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, SLOW_MS);
        }
      }
      if (isWriting) return;
      portion = rest;
      if (rest.length > 0) wait();
    },
    trouble() {
      if (refusal !== null) return `the log cannot be written: ${refusal}`;
      if (lost > 0) return 'the log cannot be written: what reads it takes nothing';
      return isRemoved() ? 'the log goes to a file that was removed' : null;
    },
  };

  function isRemoved(): boolean {
    try {
      const file = fstatSync(fd);
      return file.isFile() && file.nlink === 0;
    } catch {
      return false;
    }
  }

  function wait(ms = WAIT_MS): void {
    if (isWaiting) return;
    isWaiting = true;
    clock.setTimer(ms, () => {
      isWaiting = false;
      begin();
    });
  }

  function begin(): void {
    if (isWriting) return;
    if (portion.length === 0) {
      portion = octetsOf(kept);
      kept = '';
    }
    if (portion.length === 0) return;
    isWriting = true;
    writeLater(fd, portion, (cause, bytes) => {
      isWriting = false;
      isRefused = cause !== null;
      refusal = cause === null || isSlow(cause) ? null : whyNot(cause);
      if (!isRefused) taken(bytes);
      if (!isRefused && (portion.length > 0 || kept.length >= PORTION_CHARS)) begin();
      else if (portion.length > 0 || kept !== '') wait(isSlow(cause) ? SLOW_MS : WAIT_MS);
    });
  }

  /** Of whole lines. */
  function octetsOf(lines: string): Buffer {
    return Buffer.from(journal ? withPriorities(lines) : lines);
  }

  function taken(bytes: number): void {
    portion = portion.subarray(bytes);
    if (lost === 0) return;
    const time = new Date(clock.now()).toISOString();
    const msg = 'the log could not be written for a time, and lines of it were lost';
    kept += `${JSON.stringify({ level: 'warn', time, stream: 'service', lines: lost, msg })}\n`;
    lost = 0;
  }
}

function isSlow(cause: unknown): boolean {
  return (cause as NodeJS.ErrnoException | null)?.code === 'EAGAIN';
}
