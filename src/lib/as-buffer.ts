/** The same octets as a Buffer, from `start` up to `end`: nothing is copied, and what is a Buffer already stays one. */
export function asBuffer(bytes: Uint8Array, start = 0, end = bytes.length): Buffer {
  if (start === 0 && end === bytes.length && Buffer.isBuffer(bytes)) return bytes;
  return Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start);
}
