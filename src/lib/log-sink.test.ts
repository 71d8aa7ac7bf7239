import { execFileSync } from 'node:child_process';
import {
  closeSync,
  constants,
  fstatSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from './clock.ts';
import { createLogSink, isJournal } from './log-sink.ts';
import { createVirtualClock } from './virtual-clock.ts';

const clean: (() => void)[] = [];
afterEach(() => {
  for (const step of clean.splice(0).reverse()) step();
});

/** Both ends of a pipe that takes some 64 KiB until it is read, and refuses more instead of waiting. */
function narrowPipe(): { fd: number; read(): string } {
  const folder = mkdtempSync(join(tmpdir(), 'log-sink-'));
  clean.push(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'pipe');
  execFileSync('mkfifo', [path]);
  const out = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  const fd = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
  clean.push(() => closeSync(out));
  clean.push(() => closeSync(fd));
  const chunk = Buffer.alloc(65_536);
  return {
    fd,
    read() {
      try {
        return chunk.toString('utf8', 0, readSync(out, chunk));
      } catch {
        return '';
      }
    },
  };
}

async function readUntil(pipe: { read(): string }, end: string): Promise<string> {
  let text = '';
  while (!text.endsWith(end)) {
    text += pipe.read();
    await pause(1);
  }
  return text;
}

describe('the destination of the log', () => {
  it('keeps what is not taken and writes it later, in order', async () => {
    const pipe = narrowPipe();
    const sink = createLogSink(pipe.fd, systemClock);
    const lines = Array.from({ length: 3000 }, (_, i) => `line ${i} ${'x'.repeat(100)}\n`);
    for (const line of lines) sink.write(line);
    expect(await readUntil(pipe, lines.at(-1) ?? '')).toBe(lines.join(''));
  });

  it('loses lines beyond a limit, and tells how many', async () => {
    const pipe = narrowPipe();
    const sink = createLogSink(pipe.fd, systemClock);
    const line = `${'x'.repeat(999)}\n`;
    for (let i = 0; i < 10_000; i++) sink.write(line);
    const text = await readUntil(pipe, 'lines of it were lost"}\n');
    const written = text.split(line).length - 1;
    const told = JSON.parse(text.trimEnd().split('\n').at(-1) ?? '');
    expect(told).toMatchObject({ level: 'warn', stream: 'service', lines: 10_000 - written });
    expect(written).toBeGreaterThan(8000);
    sink.write('after it\n');
    expect(await readUntil(pipe, 'after it\n')).toBe('after it\n');
  });

  it('flushes at once what it can', () => {
    const pipe = narrowPipe();
    const sink = createLogSink(pipe.fd, systemClock);
    sink.write('one\n');
    sink.flush();
    expect(pipe.read()).toBe('one\n');
    const full = openSync('/dev/full', 'w');
    clean.push(() => closeSync(full));
    // Nothing is tried again: by then another test has a file or a connection of that number.
    const refused = createLogSink(full, createVirtualClock());
    refused.write('nobody reads this\n');
    refused.flush();
  });

  it('says why lines are not written, and that its file was removed', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'log-sink-'));
    const paths = ['/dev/full', join(folder, 'log')];
    const fds = paths.map((path) => openSync(path, 'a'));
    for (const fd of fds) clean.push(() => closeSync(fd));
    // As above: nothing is tried again.
    const clock = createVirtualClock();
    const [full, file] = fds.map((fd) => createLogSink(fd, clock));
    expect([full?.trouble(), file?.trouble()]).toEqual([null, null]);
    full?.write('nobody reads this\n');
    await clock.advance(200);
    await expect
      .poll(() => full?.trouble())
      .toBe('the log cannot be written: the disk is full (df -h, df -i)');
    rmSync(folder, { recursive: true });
    expect(file?.trouble()).toBe('the log goes to a file that was removed');
  });

  it('says of each line how important it is where systemd reads it, and only there', () => {
    const folder = mkdtempSync(join(tmpdir(), 'log-sink-'));
    clean.push(() => rmSync(folder, { recursive: true }));
    const path = join(folder, 'log');
    const fd = openSync(path, 'a');
    clean.push(() => closeSync(fd));
    const { dev, ino } = fstatSync(fd);
    const journals = [undefined, '', '8:1', `${dev}:${ino}`].map((stream) => isJournal(fd, stream));
    expect(journals).toEqual([false, false, false, true]);
    const levels = ['debug', 'info', 'warn', 'error'];
    const lines = levels.map((level) => `${JSON.stringify({ level, msg: 'a {"level":"error"\n' })}\n`);
    for (const journal of [false, true]) {
      const sink = createLogSink(fd, systemClock, { journal });
      sink.write(lines.join(''));
      sink.flush();
    }
    const marked = lines.map((line, i) => `<${[7, 6, 4, 3][i]}>${line}`);
    expect(readFileSync(path, 'utf8')).toBe([...lines, ...marked].join(''));
  });
});
