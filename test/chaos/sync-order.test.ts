/**
 * Power loss: what was answered 200 must be on the disk, not only in the system's memory. Seen from outside, with
 * strace on the running server: the log is written and synced after the request came and before the answer leaves.
 * Needs strace and the right to trace (skipped with a notice elsewhere); what a cut log loses is the store's own test.
 */
import { spawn, spawnSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, describe, expect, it } from 'vitest';
import { createBenches } from './bench.ts';
import { post } from './load.ts';
import { addDomain } from './server-process.ts';

const benches = createBenches();
afterEach(() => benches.clear());

interface Call {
  name: string;
  text: string;
  /** Line at which it was entered and at which it was over. */
  from: number;
  to: number;
}

/** Calls of a trace with threads; a call that is interrupted by another thread's line stands in two pieces. */
function parseTrace(trace: string): Call[] {
  const calls: Call[] = [];
  const open = new Map<string, Call>();
  trace.split('\n').forEach((line, at) => {
    const [, thread = '', rest = ''] = /^(\d+) +(.*)$/.exec(line) ?? [];
    const resumed = /^<\.\.\. \w+ resumed>/.test(rest);
    if (resumed) {
      const call = open.get(thread);
      if (call !== undefined) {
        call.to = at;
        call.text += rest;
      }
      open.delete(thread);
      return;
    }
    const name = /^(\w+)\(/.exec(rest)?.[1];
    if (name === undefined) return;
    const call = { name, text: rest, from: at, to: at };
    calls.push(call);
    if (rest.endsWith('<unfinished ...>')) open.set(thread, call);
  });
  return calls;
}

/** Traces the process; null with a reason where that is not possible. */
async function attach(pid: number, file: string): Promise<{ stop(): Promise<void> } | { refused: string }> {
  if (spawnSync('strace', ['-V']).error !== undefined) return { refused: 'strace is not installed' };
  const names =
    'trace=read,readv,recvfrom,recvmsg,write,writev,sendto,sendmsg,pwrite64,pwritev,fdatasync,fsync';
  const tracer = spawn('strace', ['-f', '-y', '-s', '4000', '-e', names, '-o', file, '-p', String(pid)]);
  const ended = new Promise<void>((resolve) => tracer.once('exit', () => resolve()));
  const said: string[] = [];
  const attached = await new Promise<boolean>((resolve) => {
    createInterface({ input: tracer.stderr }).on('line', (line) => {
      said.push(line);
      if (/attached/.test(line)) resolve(true);
    });
    tracer.once('exit', () => resolve(false));
  });
  if (!attached) return { refused: said.join(' ') };
  return {
    async stop() {
      // Detaches and leaves the server running.
      tracer.kill('SIGINT');
      await ended;
    },
  };
}

describe('the order of syncing and answering', () => {
  it('writes and syncs the log between a request and its 200', async (context) => {
    const bench = await benches.prepare();
    const server = await bench.start({ POSTRIDER_ROUTE: 'sandbox' });
    await addDomain(server);
    const file = join(bench.data, 'trace');
    const tracer = await attach(server.pid, file);
    if ('refused' in tracer) {
      process.stdout.write(`  SKIPPED order of syncing: ${tracer.refused}\n`);
      context.skip();
      return;
    }
    const keys = ['order-1', 'order-2', 'order-3'];
    const answers = [];
    for (const key of keys) answers.push(await post(server, { key, recipients: ['a@domain.test'] }));
    await tracer.stop();

    const calls = parseTrace(await readFile(file, 'utf8'));
    const isLog = (call: Call) => call.text.includes('postrider.db-wal>');
    answers.forEach(({ status, messageId }, i) => {
      expect(status).toBe(200);
      const asked = calls.findIndex(
        (call) => /^(read|recv)/.test(call.name) && call.text.includes(keys[i] ?? ''),
      );
      const answered = calls.findIndex(
        (call) =>
          /^(write|send)/.test(call.name) &&
          call.text.includes('HTTP/1.1 200') &&
          call.text.includes(messageId ?? ''),
      );
      expect(asked).toBeGreaterThanOrEqual(0);
      expect(answered).toBeGreaterThan(asked);
      const between = calls.filter(
        (call) =>
          call.from > (calls[asked]?.to ?? 0) && call.to < (calls[answered]?.from ?? 0) && isLog(call),
      );
      const written = between.find((call) => call.name.startsWith('pwrite'));
      const synced = between.findLast((call) => /^f(data)?sync$/.test(call.name) && /= 0$/.test(call.text));
      expect(written, 'the log is written').toBeDefined();
      expect(synced, 'the log is synced').toBeDefined();
      expect(synced?.from).toBeGreaterThan(written?.to ?? Number.POSITIVE_INFINITY);
    });
    expect((await server.terminate()).code).toBe(0);
  });
});
