/**
 * Whose rows a request may see. Every read passes the caller's domains to the store, so that other people's ids are
 * simply not found; nothing here ever tells that they exist.
 */
import type { Caller } from '../../model/submission.ts';
import { callerDomains, pickDomain } from '../../policy/access/access.ts';
import type { ApiRequest } from './route.ts';

/** `{ domains }` for a store operation; empty where the caller may see every domain. */
export function ownDomains(caller: Caller): { domains?: readonly string[] } {
  const domains = callerDomains(caller);
  return domains === undefined ? {} : { domains };
}

/** The same for a list, narrowed by the query's `Domain`. Throws AppError not-found for a foreign one. */
export function listedDomains(request: ApiRequest): { domains?: readonly string[] } {
  const given = request.query.get('domain');
  return given === undefined || given === ''
    ? ownDomains(request.caller)
    : { domains: [pickDomain(request.caller, given)] };
}
