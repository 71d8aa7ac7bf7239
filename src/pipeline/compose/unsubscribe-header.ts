/**
 * The two header fields for unsubscribing with one click (RFC 2369 §3.2, RFC 8058 §3.1): a URL that accepts a POST, an
 * address if mail is received there, and the field that announces the POST.
 */
import { type PersonalOptions, placeholder, type TokenSlot } from '../../model/personal.ts';

export interface UnsubscribeHeader {
  /** ASCII, each line with CRLF. */
  readonly lines: string;
  /** At their offsets in the message. */
  readonly places: readonly TokenSlot[];
}

/** null if no unsubscribe link is wanted. `at`: octets of the message before the lines. */
export function unsubscribeHeader(
  options: Pick<PersonalOptions, 'base' | 'unsubscribe' | 'mailtoDomain'>,
  at: number,
): UnsubscribeHeader | null {
  if (!options.unsubscribe) return null;
  const places: TokenSlot[] = [];
  let lines = 'List-Unsubscribe: ';
  const put = (kind: 'mailto' | 'unsubscribe'): void => {
    places.push({ kind, offset: at + lines.length, link: 0, digest: '' });
    lines += placeholder(kind);
  };
  // The https URL first: programs that support one-click find it anywhere, others use the first one they support.
  lines += `<${options.base}/u/`;
  put('unsubscribe');
  lines += '>';
  if (options.mailtoDomain !== null) {
    lines += ',\r\n <mailto:';
    put('mailto');
    lines += `@${options.mailtoDomain}?subject=unsubscribe>`;
  }
  lines += '\r\nList-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n';
  return { lines, places };
}
