/**
 * The doctor's checks of the addresses that mail leaves from: forward and reverse DNS names, SPF of this server's own
 * return paths, block lists.
 */
import type { Resolver } from '../../../net/dns-types.ts';
import { reverseName } from '../../../net/ip-address.ts';
import { type DomainCheck, openCheck, showable } from './check.ts';
import type { InstanceFacts, SendingAddress } from './instance-facts.ts';
import { walkSpf } from './spf.ts';
import { ipTerms, judgeSpf } from './spf-check.ts';

/** Words in names that providers give to addresses by default. */
const GENERIC_WORDS =
  /(?:^|[.-])(?:(?:dyn(?:amic)?|dhcp|a?dsl|pool|ppp|cable|unassigned|generic)(?=[.\d]|-\d|-ip)|(?:customers?|clients?|static|rev)(?=\d|-\d|-ip))/i;

/** Forward-confirmed reverse DNS, and the EHLO name. */
export async function checkAddress(
  resolver: Pick<Resolver, 'ptr' | 'a' | 'aaaa'>,
  { address, ehlo }: SendingAddress,
): Promise<DomainCheck> {
  const answer = await resolver.ptr(address);
  const names = answer.kind === 'found' ? answer.records : [];
  const asked = reverseName(address) ?? address;
  const check = openCheck(`ptr ${address}`, 'PTR', asked, { expected: ehlo, found: names });
  const setIt = `Let the provider of ${address} set its PTR record (reverse DNS) to ${ehlo}.`;
  if (answer.kind === 'failure') {
    check.unanswered(asked, answer.reason);
    return check.done();
  }
  if (names.length === 0) {
    check.fail(`${address} has no PTR record: large receivers refuse mail from such addresses.`, setIt);
  } else if (!names.some((name) => same(name, ehlo))) {
    check.warn(
      `${address} is called ${showable(names.slice(0, 3).join(', '))}, but says ${ehlo} in EHLO; receivers compare the two.`,
      `${setIt} Or set the key hostname (or the source's ehlo) to that name.`,
    );
  }
  const generic = names.find((name) => isGeneric(name, address));
  if (generic !== undefined) {
    check.warn(
      `${showable(generic)} looks like a generic name of an access network, which many receivers refuse.`,
      setIt,
    );
  }
  for (const name of new Set([...names.slice(0, 3), ehlo])) {
    const back = await (address.includes(':') ? resolver.aaaa(name) : resolver.a(name));
    if (back.kind === 'failure') check.unanswered(name, back.reason);
    else if (back.kind !== 'found' || !back.records.includes(address)) {
      check.fail(
        `${showable(name)} does not lead back to ${address}${back.kind === 'found' ? ` but to ${showable(back.records.slice(0, 3).join(', '))}` : ''}, so nothing confirms the name.`,
        `Publish an ${address.includes(':') ? 'AAAA' : 'A'} record for ${showable(name)} with ${address}.`,
      );
    }
  }
  return check.done(`${address} is called ${ehlo}, and that name leads back to it.`);
}

/** A name that contains the address, or words for customers' lines. */
export function isGeneric(name: string, address: string): boolean {
  if (GENERIC_WORDS.test(name)) return true;
  const parts = address.split('.');
  if (parts.length !== 4) return false;
  const numbers = (name.match(/\d+/g) ?? []).map(Number);
  // At least three of the four numbers, in any order.
  return parts.filter((part) => numbers.includes(Number(part))).length >= 3 && numbers.length >= 3;
}

function same(a: string, b: string): boolean {
  return a.toLowerCase().replace(/\.$/, '') === b.toLowerCase().replace(/\.$/, '');
}

/** SPF of the host of this server's return paths, judged as for a sender domain. */
export async function checkServerSpf(
  resolver: Resolver,
  { bounceDomain, addresses }: InstanceFacts,
): Promise<DomainCheck> {
  const own = addresses.map(({ address }) => address);
  return judgeSpf(await walkSpf(resolver, resolver, bounceDomain, addresses), {
    id: 'spf',
    expected: `v=spf1 ${ipTerms(own)} ~all`,
  });
}

/** `127.255.255.x` means that the list does not answer us, not that the address is listed. */
export async function checkBlockLists(
  resolver: Pick<Resolver, 'a'>,
  address: string,
  zones: readonly string[],
): Promise<DomainCheck | null> {
  const reversed = reverseName(address)?.replace(/\.(?:in-addr|ip6)\.arpa$/, '');
  if (zones.length === 0 || reversed === undefined) return null;
  const found: string[] = [];
  const check = openCheck(`dnsbl ${address}`, 'A', address, { expected: 'not listed', found });
  let clear = 0;
  for (const zone of zones) {
    // The first labels may be a secret key for the list.
    const shown = zone.split('.').slice(-3).join('.');
    const answer = await resolver.a(`${reversed}.${zone}`);
    if (answer.kind === 'failure') {
      check.warn(`The block list ${shown} did not answer.`, '');
      continue;
    }
    const codes = answer.kind === 'found' ? answer.records : [];
    found.push(...codes.map((code) => `${shown} ${code}`));
    if (codes.some((code) => code.startsWith('127.255.255.'))) {
      check.warn(
        `The block list ${shown} refuses to answer this resolver (${codes.join(', ')}); that says nothing about ${address}.`,
        'Ask it through a resolver of your own, with the key that the list gave you (key doctor-dnsbl).',
      );
    } else if (codes.some((code) => code.startsWith('127.'))) {
      check.fail(
        `${address} is listed at ${shown} (${codes.join(', ')}).`,
        'Find out why at the site of the list, end it, and then ask for removal.',
      );
    } else clear += 1;
  }
  return check.done(`${address} is not listed (${clear} of ${zones.length} block lists asked answered so).`);
}
