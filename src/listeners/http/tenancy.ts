/**
 * Which rows a request may see. Every read passes the caller's domains to the store, so rows of other tenants are not
 * found, and no answer reveals that they exist.
 */
import { isUuid } from '../../lib/ids.ts';
import type { Caller } from '../../model/submission.ts';
import { callerDomains } from '../../policy/access/rights.ts';
import type { Store } from '../../store/store.ts';
import type { MessageView } from '../../store/topics/messages.ts';
import { refuse } from './route.ts';

/** `{ domains }` for a store operation; empty if the caller may see every domain. */
export function ownDomains(caller: Caller): { domains?: readonly string[] } {
  const domains = callerDomains(caller);
  return domains === undefined ? {} : { domains };
}

/**
 * Who asked for a change, as the timeline of the message says it. Everybody who may read the message reads this, and whoever gets
 * its webhooks: so people, and what the operator has, are not named.
 */
export function requestedBy(caller: Caller): { reason: string } {
  const who =
    callerDomains(caller) === undefined
      ? 'the operator of this server'
      : caller.session === undefined
        ? `the token "${caller.name || caller.tokenId}"`
        : 'a person in the dashboard';
  return { reason: `Requested by ${who}` };
}

/** The caller's message with that id, in upper or lower case. Throws AppError not-found. */
export async function ownMessage(
  store: Pick<Store, 'getMessage'>,
  caller: Caller,
  given: string,
): Promise<MessageView> {
  const id = given.toLowerCase();
  const message = isUuid(id) ? await store.getMessage({ id, ...ownDomains(caller) }) : null;
  if (message === null) throw refuse('not-found');
  return message;
}
