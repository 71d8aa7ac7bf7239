/** The DNS records of a sender domain, as a person copies them into a DNS panel. */
import type { Domain } from '../client/api-types.ts';
import { type Screen, styled } from './terminal.ts';

/** Each part of a record has a line of its own and is not wrapped, so that it can be copied as it is. */
export function recordsText(screen: Screen, domain: Domain): string {
  const blocks = domain.DnsRecords.map((record) => {
    return [
      `${styled(screen, 'bold', record.Purpose)} (${record.Need.toLowerCase()})`,
      `  ${record.Why}`,
      `  Type   ${record.Type}`,
      `  Host   ${record.Host}`,
      `  Value  ${record.Value}`,
    ].join('\n');
  });
  return `DNS records of ${domain.Domain}:\n\n${blocks.join('\n\n')}`;
}
