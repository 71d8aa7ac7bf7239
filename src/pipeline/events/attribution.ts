/**
 * Finds the delivery that a report of a feedback loop is about, by the first of our tokens in it that is valid: in its
 * references, its return paths, or its links for unsubscribing. The text of a report is not evidence.
 */
import type { Clock } from '../../lib/clock.ts';
import type { FeedbackReport } from '../../mail/arf.ts';
import type { ReturnPathTokens } from '../../mail/verp.ts';
import type { Store } from '../../store/store.ts';
import type { ReturnSubject } from '../../store/topics/returns.ts';
import { RETURNS_TAKEN_MS } from './return-target.ts';

/**
 * `sentTo`: the delivery whose return path the report came to, if it did; `verified`: its provider signed it. A number alone:
 * the delivery was deleted, or the person erased, of whom a file must keep nothing. null: none is known.
 */
type Attribute = (
  report: FeedbackReport,
  sentTo: ReturnSubject | null,
  verified: boolean,
) => Promise<ReturnSubject | number | null>;

const OPT_OUT_TOKEN = /\bu-[0-9a-z]{14}-[0-9a-z]{16}/gi;
const OWN_MESSAGE_ID = /^([0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12})@/i;

export function createAttribution({
  store,
  tokens,
  clock,
}: {
  store: Pick<Store, 'returnSubjects'>;
  tokens: ReturnPathTokens;
  clock: Clock;
}): Attribute {
  return attribute;

  async function attribute(
    report: FeedbackReport,
    sentTo: ReturnSubject | null,
    verified: boolean,
  ): Promise<ReturnSubject | number | null> {
    let gone: number | null = null;
    for (const id of tokenIds(report)) {
      const [found] = await store.returnSubjects({ deliveryId: id });
      if (found === undefined) gone ??= id;
      else if (isRecent(found)) return found;
    }
    if (sentTo !== null) return sentTo;
    if (gone !== null) return gone;
    // A Message-ID is not secret: everybody who got a reply to the message knows it. So a provider's signature is
    // required.
    const messageId = verified ? OWN_MESSAGE_ID.exec(report.messageId ?? '')?.[1] : undefined;
    if (messageId === undefined) return null;
    const found = await store.returnSubjects({ messageId: messageId.toLowerCase() });
    const [only] = found;
    return only !== undefined && found.length === 1 && isRecent(only) ? only : null;
  }

  function tokenIds(report: FeedbackReport): number[] {
    const read = [
      ...report.references.map((value) => tokens.parseRef(value)),
      ...report.returnPaths.map((path) => returnPathToken(path)),
      ...report.unsubscribe.flatMap((value) =>
        (value.match(OPT_OUT_TOKEN) ?? []).slice(0, 4).map((token) => tokens.parse(token)),
      ),
    ];
    return read.flatMap((one) => (one?.ok && typeof one.id === 'number' ? [one.id] : []));
  }

  function returnPathToken(path: string) {
    const at = path.lastIndexOf('@');
    const token = tokens.parse(at === -1 ? path : path.slice(0, at));
    return token.ok && token.purpose === 'b' ? token : null;
  }

  function isRecent(subject: ReturnSubject): boolean {
    return clock.now() - subject.sentAt <= RETURNS_TAKEN_MS;
  }
}
