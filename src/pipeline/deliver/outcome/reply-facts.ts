/**
 * What a reply or a failed opening teaches about the way to a domain, beyond the message it answered: DNS that is out of
 * date, a server that wants TLS, a refusal that had to do with IPv6. One call per ended attempt.
 */
import { isIP } from 'node:net';
import type { OpenResult } from '../../../smtp/client-types.ts';
import type { Endpoint, Endpoints } from '../routing/endpoints.ts';
import type { Opener } from '../tls/opener.ts';
import type { Category } from './classifier/categories.ts';
import type { Outcome } from './outcome.ts';

/** The domain's mail is not this server's to take: its MX may have changed. */
const NOT_THEIRS: ReadonlySet<Category> = new Set(['relay_denied', 'routing_loop']);
/** Refusals of an address: by IPv6 many servers are stricter than by IPv4. */
const ABOUT_OUR_ADDRESS: ReadonlySet<Category> = new Set([
  'ptr_missing',
  'helo',
  'ip_reputation',
  'ip_blocklisted',
  'auth_failed',
]);

interface Learning {
  endpoints: Pick<Endpoints, 'forget' | 'avoidIpv6'>;
  opener: Pick<Opener, 'tlsDemanded'>;
}

/** After a transaction. */
export function learnFromOutcome(
  { endpoints, opener }: Learning,
  endpoint: Endpoint,
  outcome: Outcome,
): void {
  if (endpoint.route !== 'mx') return;
  const category = 'verdict' in outcome && outcome.verdict !== null ? outcome.verdict.category : null;
  if (category === null) return;
  if (NOT_THEIRS.has(category)) endpoints.forget(endpoint.recipientDomain);
  if (category === 'tls_required') opener.tlsDemanded(endpoint);
  if (isIP(endpoint.address) === 6 && ABOUT_OUR_ADDRESS.has(category))
    endpoints.avoidIpv6(endpoint.recipientDomain);
}

/** After an opening. `category`: of the reply that refused it, where there was one. */
export function learnFromOpening(
  { endpoints, opener }: Learning,
  endpoint: Endpoint,
  result: OpenResult,
  category: Category | null,
): void {
  if (result.kind === 'open' || result.reason === 'aborted' || endpoint.route !== 'mx') return;
  // None of the addresses could be used: the next attempt asks DNS again.
  if (endpoint.isLast) endpoints.forget(endpoint.recipientDomain);
  if (category === 'tls_required') opener.tlsDemanded(endpoint);
  if (isIP(endpoint.address) === 6 && category !== null && ABOUT_OUR_ADDRESS.has(category)) {
    endpoints.avoidIpv6(endpoint.recipientDomain);
  }
}
