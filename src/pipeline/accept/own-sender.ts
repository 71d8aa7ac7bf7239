/** Which domain this server's own mail is sent from: a verified sender domain that covers one of its names. */
import { namesUpFrom } from '../../mail/address-text.ts';
import type { Caller } from '../../model/submission.ts';
import type { SenderDomains } from './accept.ts';

/** The first of the names, or of the domains above them, that may send; null = none. */
export async function ownSender(
  senders: SenderDomains,
  caller: Caller,
  names: readonly string[],
): Promise<string | null> {
  for (const own of names) {
    for (const name of namesUpFrom(own)) {
      if ((await senders.senderFor(caller, name)).kind === 'domain') return name;
    }
  }
  return null;
}
