import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { message } from '../../conformance/fixtures.ts';
import { StoreUnavailable } from '../../store.ts';
import { filledDatabase, temporaryFolder } from '../test-support.ts';
import { createInProcess } from './in-process.ts';
import type { ReadCall, ReaderReplies, ReaderRequest } from './protocol.ts';
import { createReadGroups } from './read-groups.ts';
import { openReader } from './reader-work.ts';
import { createThread, type Thread } from './thread.ts';

let folder: ReturnType<typeof temporaryFolder>;
beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(() => folder.remove());

/** Groups over a reader of messages with contents of these sizes; `asked`: how many reads went together. */
function groupsOver(sizes: readonly number[]) {
  const path = folder.file('store.db');
  filledDatabase(
    path,
    sizes.map((size) => message({ content: new Uint8Array(size) })),
  ).db.close();
  const thread = createInProcess<ReaderRequest, ReaderReplies>(() => openReader({ path }));
  const asked: number[] = [];
  const counted: Thread<ReaderRequest, ReaderReplies> = {
    ...thread,
    ask(request) {
      if (request.kind === 'reads') asked.push(request.calls.length);
      return thread.ask(request);
    },
  };
  return { groups: createReadGroups(counted), asked, thread };
}

const content = (messageSeq: number): ReadCall => ({ name: 'readContent', params: { messageSeq } });

describe('reads that are asked for in one turn', () => {
  it('go together, sixteen at the most, and each gets its own answer', async () => {
    const { groups, asked } = groupsOver(Array.from({ length: 20 }, (_, i) => 100 + i));
    const replies = await Promise.all(
      Array.from({ length: 20 }, (_, i) => groups.read(content(i + 1), false)),
    );
    expect(asked).toEqual([16, 4]);
    expect(replies.map((reply) => reply.kind === 'value' && (reply.value as Uint8Array).length)).toEqual(
      Array.from({ length: 20 }, (_, i) => 100 + i),
    );
    await groups.read(content(1), false);
    expect(asked).toEqual([16, 4, 1]);
  });

  it('are answered in parts where their contents are large', async () => {
    const { groups, asked } = groupsOver([600_000, 600_000, 600_000]);
    const replies = await Promise.all([1, 2, 3].map((seq) => groups.read(content(seq), false)));
    expect(replies.map(({ kind }) => kind)).toEqual(['value', 'value', 'value']);
    expect(asked).toEqual([3, 1]);
  });

  it('do not wait for one that may take long and was asked for after them', async () => {
    const { groups, asked } = groupsOver([10]);
    const answered: string[] = [];
    const read = (name: string, alone: boolean) =>
      groups.read(content(1), alone).then(() => answered.push(name));
    await Promise.all([read('a', false), read('b', false), read('long', true), read('c', false)]);
    expect(answered).toEqual(['a', 'b', 'long', 'c']);
    expect(asked).toEqual([2, 1, 1]);
  });

  it('fail alone', async () => {
    const { groups } = groupsOver([10]);
    const wrong = { name: 'nothing', params: undefined } as unknown as ReadCall;
    const [failed, found] = await Promise.all([groups.read(wrong, false), groups.read(content(1), false)]);
    expect([failed.kind, found.kind]).toEqual(['thrown', 'value']);
  });

  it('fail alone where one cannot even be posted', async () => {
    const path = folder.file('store.db');
    filledDatabase(path, [message()]).db.close();
    const file = new URL('./reader-thread.ts', import.meta.url);
    const thread = createThread<ReaderRequest, ReaderReplies>('store-reader', file, { path });
    const groups = createReadGroups(thread);
    const wrong = { name: 'readContent', params: { messageSeq: () => 1 } } as unknown as ReadCall;
    const [failed, found] = await Promise.allSettled([
      groups.read(wrong, false),
      groups.read(content(1), false),
    ]);
    expect([failed.status, found.status]).toEqual(['rejected', 'fulfilled']);
    await thread.close({ kind: 'close' });
  });

  it('all fail where the thread is gone', async () => {
    const { groups, thread } = groupsOver([10]);
    await thread.close({ kind: 'close' });
    const reads = await Promise.allSettled([groups.read(content(1), false), groups.read(content(1), false)]);
    for (const read of reads)
      expect(read).toMatchObject({ status: 'rejected', reason: expect.any(StoreUnavailable) });
  });
});
