/**
 * The two header fields by which a reader's program unsubscribes with one click (RFC 2369 §3.2, RFC 8058 §3.1): a URL
 * that takes a POST, an address where mail is taken there, and the word that a POST is what the URL takes. Pure.
 */
import { type PersonalOptions, placeholder, type TokenSlot } from '../../model/personal.ts';

export interface UnsubscribeHeader {
  /** ASCII, each line ended by CRLF. */
  readonly lines: string;
  /** At their offsets in the message. */
  readonly places: readonly TokenSlot[];
}

/** null where no unsubscribe link is wanted. `at`: octets of the message in front of the lines. */
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
  // The https address first: programs that know one-click take it wherever it stands, others the first they can use.
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
