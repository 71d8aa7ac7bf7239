import { expect, it } from 'vitest';
import { littleMemory, memoryOfProcess } from './memory.ts';

const MIB = 1024 * 1024;

it('warns where the system would kill the server, and not on a machine of 512 MB, which has a little less', () => {
  expect(littleMemory(128 * MIB)).toMatch(/may use only 128 MB of memory.*Give it 512 MB: MemoryMax=/s);
  expect(littleMemory(256 * MIB)).toContain('only 256 MB');
  expect(littleMemory(460 * MIB)).toBeNull();
  expect(memoryOfProcess()).toBeGreaterThan(MIB);
});
