/** The octets from `start` to `end` as a Buffer over the same memory, without copying. */
export function asBuffer(bytes: Uint8Array, start = 0, end = bytes.length): Buffer {
  if (start === 0 && end === bytes.length && Buffer.isBuffer(bytes)) return bytes;
  return Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start);
}
