/**
 * Writes DER (X.690 §10), as much as a certificate needs: values of at most 64 KiB, in the given order. Nothing is
 * checked.
 */

/** One value: tag, length in the shortest form, content. */
export function der(tag: number, content: Uint8Array): Buffer {
  const { length } = content;
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.of(tag, ...size), content]);
}

/** SEQUENCE of DER values. */
export function sequence(...parts: readonly Uint8Array[]): Buffer {
  return der(0x30, Buffer.concat(parts));
}

/** OBJECT IDENTIFIER, given its octets. */
export function oid(...bytes: readonly number[]): Buffer {
  return der(0x06, Buffer.from(bytes));
}

/** UTCTime of a time in milliseconds, in whole seconds; years 1950–2049 only (RFC 5280 §4.1.2.5.1). */
export function utcTime(ms: number): Buffer {
  const digits = new Date(ms).toISOString().replace(/\D/g, '').slice(2, 14);
  return der(0x17, Buffer.from(`${digits}Z`));
}

/** BIT STRING of whole octets. */
export function bitString(content: Uint8Array): Buffer {
  return der(0x03, Buffer.concat([Buffer.of(0), content]));
}

/** A certificate as PEM (RFC 7468 §5). */
export function certificatePem(bytes: Uint8Array): string {
  const lines =
    Buffer.from(bytes)
      .toString('base64')
      .match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
}
