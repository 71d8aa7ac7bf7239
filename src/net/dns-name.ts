/**
 * Domain names between text and wire form (RFC 1035 §3.1, §4.1.4). Text is lower case without trailing dot, '' for the
 * root. Names from the wire may contain any byte: every byte that is not a plain visible character is escaped (`\.`,
 * `\032`), so that no label looks like two; such a name is neither a host name nor valid in a query. Reading always
 * ends: a compression pointer must point backwards, and a name has at most 255 octets.
 */

const MAX_NAME_OCTETS = 255;
const MAX_LABEL_OCTETS = 63;
const MAX_POINTERS = 127;

/** Lower case, with one trailing dot removed. */
export function normalizeName(name: string): string {
  const lower = name.toLowerCase();
  return lower.endsWith('.') ? lower.slice(0, -1) : lower;
}

/** A name as wire octets; undefined if a label is empty or over 63 octets, the whole over 255, or not plain ASCII. */
export function encodeName(name: string): Uint8Array | undefined {
  const text = normalizeName(name);
  if (text === '') return Uint8Array.of(0);
  if (text.length + 2 > MAX_NAME_OCTETS || !/^[\x21-\x5b\x5d-\x7e]+$/.test(text)) return undefined;
  const out = new Uint8Array(text.length + 2);
  let at = 0;
  for (const label of text.split('.')) {
    if (label.length === 0 || label.length > MAX_LABEL_OCTETS) return undefined;
    out[at++] = label.length;
    for (let i = 0; i < label.length; i++) out[at++] = label.charCodeAt(i);
  }
  return out;
}

/** The name at `offset` of a message and the offset after it; undefined if it is cut short, too long or circular. */
export function readName(message: Uint8Array, offset: number): { name: string; next: number } | undefined {
  let at = offset;
  let next = -1;
  // Pointers may only point before the start of the current run of labels, which ends every chain.
  let runStart = offset;
  let octets = 1;
  let pointers = 0;
  // Joined at the end: a string that is added up octet by octet takes a hundred times the memory of its text.
  const shown: string[] = [];
  for (;;) {
    const length = message[at];
    if (length === undefined) return undefined;
    if (length === 0) return { name: shown.join(''), next: next === -1 ? at + 1 : next };
    if ((length & 0xc0) === 0xc0) {
      const low = message[at + 1];
      if (low === undefined) return undefined;
      if (next === -1) next = at + 2;
      const target = ((length & 0x3f) << 8) | low;
      if (target >= runStart) return undefined;
      at = target;
      runStart = target;
      // In a legitimate name each pointer leads to at least one more label; chains of pointers only cost time.
      if (++pointers > MAX_POINTERS) return undefined;
      continue;
    }
    if (length > MAX_LABEL_OCTETS || at + 1 + length > message.length) return undefined;
    octets += length + 1;
    if (octets > MAX_NAME_OCTETS) return undefined;
    if (shown.length > 0) shown.push('.');
    for (let i = at + 1; i <= at + length; i++) shown.push(SHOWN[message[i] ?? 0] ?? '');
    at += length + 1;
  }
}

/**
 * Whether `name` can be a mail or web host: letters, digits, hyphens and (seen in practice) underscores in labels of
 * 1–63, at most 253 in all, and not an address in any spelling: a last label of digits or `0x…` is how URL parsers
 * tell an IPv4 address.
 */
export function isHostName(name: string): boolean {
  if (name.length > 253) return false;
  const labels = name.split('.');
  for (const label of labels) {
    if (!/^[a-z0-9_-]{1,63}$/i.test(label) || label.startsWith('-') || label.endsWith('-')) return false;
  }
  const last = labels[labels.length - 1] ?? '';
  return !/^(\d+|0x[0-9a-f]*)$/i.test(last);
}

/** Octets as they are shown in a name. */
const SHOWN: readonly string[] = Array.from({ length: 256 }, (_, octet) => printable(octet));

function printable(octet: number): string {
  if (octet >= 0x41 && octet <= 0x5a) return String.fromCharCode(octet + 32);
  if (octet === 0x2e || octet === 0x5c) return `\\${String.fromCharCode(octet)}`;
  if (octet > 0x20 && octet < 0x7f) return String.fromCharCode(octet);
  return `\\${String(octet).padStart(3, '0')}`;
}

/** Its last two labels: the zone of most names. Of others it is one above, which they share. */
export function zoneOf(name: string): string {
  return name.split('.').slice(-2).join('.');
}
