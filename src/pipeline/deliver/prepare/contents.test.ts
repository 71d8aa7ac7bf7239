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
  const [first, second] = await Promise.all([contents.of(1), contents.of(1)]);
  expect(second).toBe(first);
  expect(await contents.of(1)).toBe(first);
  expect(seqs).toEqual([1]);
});

it('is read again once sixteen other messages came', async () => {
  const { contents, seqs } = reading();
  for (let seq = 0; seq <= 16; seq += 1) await contents.of(seq);
  await contents.of(1);
  await contents.of(0);
  expect(seqs).toEqual([...Array(17).keys(), 0]);
});

it('keeps 4 MiB at the most, and nothing of a content that is larger', async () => {
  const { contents, seqs } = reading((seq) => (seq === 9 ? 5 : 2) * 1024 * 1024);
  for (const seq of [1, 2, 1, 3, 2, 1, 9, 9]) await contents.of(seq);
  expect(seqs).toEqual([1, 2, 3, 1, 9, 9]);
});

it('is read again where it was gone, or the store could not be read', async () => {
  const { contents, seqs } = reading((seq) => {
    if (seq === 2 && seqs.length === 3) throw new Error('no disk');
    return seq === 1 ? null : 10;
  });
  expect(await contents.of(1)).toBeNull();
  expect(await contents.of(1)).toBeNull();
  await expect(contents.of(2)).rejects.toThrow('no disk');
  expect(await contents.of(2)).toHaveLength(10);
});
