/**
 * The hosts that take the mail of the bounce domain, to which MX records of return paths lead. A host in an MX record needs an
 * address of its own (RFC 5321 §5.1), so a bounce domain that has only MX records cannot be named in one. Takes look-ups;
 * returns names, none if the domain takes no mail. An address that could not be looked up counts as one.
 */
import type { Resolver } from '../../../net/dns-types.ts';

/** The hosts of its MX records, the preferred first, then the domain itself if it may have an address. */
export async function returnServers(
  resolver: Pick<Resolver, 'mx' | 'a' | 'aaaa'>,
  bounceDomain: string,
): Promise<string[]> {
  const [mx, itself] = await Promise.all([resolver.mx(bounceDomain), mayHaveAddress(resolver, bounceDomain)]);
  const records = mx.kind === 'found' ? [...mx.records] : [];
  const exchanges = records
    .sort((a, b) => a.preference - b.preference)
    .map(({ exchange }) => exchange)
    .filter((name) => name !== '');
  return [...new Set([...exchanges, ...(itself ? [bounceDomain] : [])])];
}

/** Whether a name has an address, or one that could not be looked up. */
export async function mayHaveAddress(resolver: Pick<Resolver, 'a' | 'aaaa'>, name: string): Promise<boolean> {
  const answers = await Promise.all([resolver.a(name), resolver.aaaa(name)]);
  return answers.some(({ kind }) => kind === 'found' || kind === 'failure');
}
