/**
 * The two header fields for unsubscribing with one click (RFC 2369 §3.2, RFC 8058 §3.1): a URL that accepts a POST, an
 * address if mail is received there, and the field that announces the POST. A URL that readers cannot reach is left
 * out, and the announcement if the URL is not https or the sender has written it.
 */
import { type PersonalOptions, placeholder, type TokenSlot, type TokenSlots } from '../../model/personal.ts';

export interface UnsubscribeHeader {
  /** ASCII, each line with CRLF; '' if nothing leads here. */
  readonly lines: string;
  /** At their offsets in the message. */
  readonly places: readonly TokenSlot[];
}

const ANNOUNCEMENT = /^list-unsubscribe-post$/i;

/**
 * null if no unsubscribe link is wanted. `at`: octets of the message before the lines; `names`: its other fields, in
 * any case.
 */
export function unsubscribeHeader(
  options: Pick<PersonalOptions, 'base' | 'reach' | 'unsubscribe' | 'mailtoDomain'>,
  at: number,
  names: readonly string[],
): UnsubscribeHeader | null {
  if (!options.unsubscribe) return null;
  const places: TokenSlot[] = [];
  let lines = 'List-Unsubscribe: ';
  const put = (kind: 'mailto' | 'unsubscribe'): void => {
    places.push({ kind, offset: at + lines.length, link: 0, digest: '' });
    lines += placeholder(kind);
  };
  // The URL first: programs that support one-click find it anywhere, others use the first one they support.
  if (options.reach !== 'none') {
    lines += `<${options.base}/u/`;
    put('unsubscribe');
    lines += '>';
  }
  if (options.mailtoDomain !== null) {
    lines += places.length === 0 ? '<mailto:' : ',\r\n <mailto:';
    put('mailto');
    lines += `@${options.mailtoDomain}?subject=unsubscribe>`;
  }
  if (places.length === 0) return { lines: '', places };
  lines += '\r\n';
  if (options.reach === 'one-click' && !names.some((name) => ANNOUNCEMENT.test(name)))
    lines += 'List-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n';
  return { lines, places };
}

/** The slots of a message; null = it needs none. `header`: null = none is wanted. */
export function tokenSlots(
  host: string,
  places: readonly TokenSlot[],
  header: UnsubscribeHeader | null,
): TokenSlots | null {
  if (header?.lines === '') return { host, places, unreachable: true };
  return places.length === 0 ? null : { host, places };
}
