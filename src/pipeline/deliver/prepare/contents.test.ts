import { expect, it } from 'vitest';
import { createContents } from './contents.ts';

/** A store with contents of this many octets; `seqs` are the reads. */
function reading(sizeOf: (seq: number) => number | null = () => 10) {
  const seqs: number[] = [];
  const contents = createContents({
    async readContent({ messageSeq }) {
      seqs.push(messageSeq);
      const size = sizeOf(messageSeq);
      return size === null ? null : new Uint8Array(size);
    },
  });
  return { contents, seqs };
}

it('is read once for all recipients of a message, also while the read runs', async () => {
  const { contents, seqs } = reading();
  const [first, second] = await Promise.all([contents.of(1, false), contents.of(1, false)]);
  expect(second).toBe(first);
  expect(await contents.of(1, false)).toBe(first);
  expect(seqs).toEqual([1]);
});

it('is read again once sixteen other messages came', async () => {
  const { contents, seqs } = reading();
  for (let seq = 0; seq <= 16; seq += 1) await contents.of(seq, false);
  await contents.of(1, false);
  await contents.of(0, false);
  expect(seqs).toEqual([...Array(17).keys(), 0]);
});

it('keeps 4 MiB at the most, and nothing of a content that is larger', async () => {
  const { contents, seqs } = reading((seq) => (seq === 9 ? 5 : 2) * 1024 * 1024);
  for (const seq of [1, 2, 1, 3, 2, 1, 9, 9]) await contents.of(seq, false);
  expect(seqs).toEqual([1, 2, 3, 1, 9, 9]);
});

it('is read again where it was gone, or the store could not be read', async () => {
  const { contents, seqs } = reading((seq) => {
    if (seq === 2 && seqs.length === 3) throw new Error('no disk');
    return seq === 1 ? null : 10;
  });
  expect(await contents.of(1, false)).toBeNull();
  expect(await contents.of(1, false)).toBeNull();
  await expect(contents.of(2, false)).rejects.toThrow('no disk');
  expect(await contents.of(2, false)).toHaveLength(10);
});

it('is read anew where it may have changed, and those that follow get the new one', async () => {
  const sizes = [100, 200];
  const { contents, seqs } = reading(() => sizes[seqs.length - 1] ?? 0);
  expect(await contents.of(1, false)).toHaveLength(100);
  expect(await contents.of(1, true)).toHaveLength(200);
  expect(await contents.of(1, false)).toHaveLength(200);
  expect(seqs).toEqual([1, 1]);
});
