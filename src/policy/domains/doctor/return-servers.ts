/**
 * The hosts that take the mail of the bounce domain, to which MX records of return paths lead. A host in an MX record needs an
 * address of its own (RFC 5321 §5.1), so a bounce domain that has only MX records cannot be named in one. Takes look-ups;
 * returns names, none if the domain takes no mail, and null where the DNS gave no answer.
 */
import type { Resolver } from '../../../net/dns-types.ts';

/** The hosts of its MX records, the preferred first, then the domain itself if it has an address. */
export async function returnServers(
  resolver: Pick<Resolver, 'mx' | 'a' | 'aaaa'>,
  bounceDomain: string,
): Promise<string[] | null> {
  const [mx, ...addresses] = await Promise.all([
    resolver.mx(bounceDomain),
    resolver.a(bounceDomain),
    resolver.aaaa(bounceDomain),
  ]);
  if (mx.kind === 'failure') return null;
  const records = mx.kind === 'found' ? [...mx.records] : [];
  const exchanges = records
    .sort((a, b) => a.preference - b.preference)
    .map(({ exchange }) => exchange)
    .filter((name) => name !== '');
  const itself = addresses.some(({ kind }) => kind === 'found');
  if (!itself && exchanges.length === 0 && addresses.some(({ kind }) => kind === 'failure')) return null;
  return [...new Set([...exchanges, ...(itself ? [bounceDomain] : [])])];
}
