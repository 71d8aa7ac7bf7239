/**
 * Plain tar archives (POSIX ustar; sizes from 8 GiB as GNU tar writes them): writes and reads the header block of each
 * file. A file is padded with zeros to a multiple of 512 octets; the archive ends with two blocks of zeros.
 */

export const TAR_BLOCK = 512;
/** The end of an archive. */
export const TAR_END = Buffer.alloc(2 * TAR_BLOCK);

export interface TarEntry {
  /** At most 100 octets. */
  readonly name: string;
  readonly size: number;
}

const SIZE_AT = 124;
const CHECKSUM_AT = 148;
const KIND_AT = 156;
const MAGIC_AT = 257;
const MAX_OCTAL_SIZE = 8 ** 11 - 1;
const BLANKS = '        ';

/** How many zeros follow a file of that size. */
export function tarPadding(size: number): number {
  return (TAR_BLOCK - (size % TAR_BLOCK)) % TAR_BLOCK;
}

/** The header block of a file that only its owner may read. `modifiedAt` in epoch milliseconds. */
export function tarHeader({ name, size }: TarEntry, modifiedAt: number): Buffer {
  const block = Buffer.alloc(TAR_BLOCK);
  block.write(name, 0, 100, 'latin1');
  for (const [at, value] of [
    [100, 0o600],
    [108, 0],
    [116, 0],
  ] as const)
    block.write(value.toString(8).padStart(7, '0'), at, 'latin1');
  if (size <= MAX_OCTAL_SIZE) block.write(size.toString(8).padStart(11, '0'), SIZE_AT, 'latin1');
  else {
    block[SIZE_AT] = 0x80;
    block.writeBigUInt64BE(BigInt(size), SIZE_AT + 4);
  }
  block.write(
    Math.floor(modifiedAt / 1000)
      .toString(8)
      .padStart(11, '0'),
    136,
    'latin1',
  );
  block.write('0', KIND_AT, 'latin1');
  block.write('ustar\x0000', MAGIC_AT, 'latin1');
  block.write(`${checksumOf(block).toString(8).padStart(6, '0')}\0 `, CHECKSUM_AT, 'latin1');
  return block;
}

/**
 * What a header block says about its file; null for anything except a plain file, so also at the end of the archive.
 */
export function readTarHeader(block: Buffer): TarEntry | null {
  if (block.length < TAR_BLOCK || block.toString('latin1', MAGIC_AT, MAGIC_AT + 5) !== 'ustar') return null;
  if (![0, 48].includes(block[KIND_AT] as number)) return null;
  if (octalAt(block, CHECKSUM_AT, 8) !== checksumOf(block)) return null;
  const isLarge = block[SIZE_AT] === 0x80;
  const size = isLarge ? Number(block.readBigUInt64BE(SIZE_AT + 4)) : octalAt(block, SIZE_AT, 12);
  const [name = ''] = block.toString('latin1', 0, 100).split('\0', 1);
  return Number.isSafeInteger(size) && name !== '' ? { name, size } : null;
}

function octalAt(block: Buffer, at: number, length: number): number {
  const digits = /^ *([0-7]+)[ \0]*$/.exec(block.toString('latin1', at, at + length))?.[1];
  return digits === undefined ? Number.NaN : Number.parseInt(digits, 8);
}

/** The sum of all octets, with blanks in place of the checksum itself. */
function checksumOf(block: Buffer): number {
  let sum = 0;
  for (let i = 0; i < TAR_BLOCK; i += 1) {
    const isOwn = i >= CHECKSUM_AT && i < CHECKSUM_AT + BLANKS.length;
    sum += isOwn ? BLANKS.charCodeAt(0) : (block[i] as number);
  }
  return sum;
}
