/** What DMARC reports say of a domain, as text. */
import type { DmarcSummary } from '../client/api-types.ts';
import { counted, table } from './terminal.ts';

type Source = DmarcSummary['Sources'][number];

/** `days`: of the reports. `address`: where reports of the domain have to be sent; null: the DNS records to publish name none. */
export function dmarcText(
  summary: DmarcSummary,
  { days, address, isVerified }: { days: number; address: string | null; isVerified: boolean },
): string {
  const { Domain, Reports, Messages, Passed, Sources, Reporters, Complete } = summary;
  if (Reports === 0) {
    const how =
      address === null
        ? `The server reads them at dmarc@ the host of its return paths, where it takes returned mail (the setting returns). With a return-path host below ${Domain}, "postrider domain show ${Domain}" prints the DMARC record that asks for them; for a host elsewhere see docs/howto/bounces-and-complaints.md.`
        : `Receivers send them to the addresses in the DMARC record at _dmarc.${Domain}. It needs rua=mailto:${address} there; if it has a rua already, add ,mailto:${address} to that.`;
    const first = isVerified ? '' : ' Reports are read only once the domain is verified.';
    return `No DMARC report about ${Domain} arrived in the last ${counted(days, 'day')}.${first} ${how}`;
  }
  const lines = [
    `${Domain}: ${counted(Messages, 'message')} in ${counted(Reports, 'report')} of the last ${counted(days, 'day')}.`,
    `${Passed} passed DMARC (${share(Passed, Messages)}), ${Messages - Passed} did not.`,
    ...(Complete ? [] : ['There are more reports; the oldest are left out.']),
    '',
    table([
      ['SOURCE', 'MESSAGES', 'PASSED', 'DKIM', 'SPF', 'QUARANTINED', 'REJECTED', 'FROM'],
      ...Sources.map((source) => [
        nameOf(source),
        String(source.Messages),
        share(source.Passed, source.Messages),
        share(source.DKIM, source.Messages),
        share(source.SPF, source.Messages),
        String(source.Quarantined),
        String(source.Rejected),
        source.From.join(', '),
      ]),
    ]),
  ];
  const found = Sources.filter((source) => source.Passed < source.Messages && source.Found.length > 0);
  if (found.length > 0) {
    lines.push('', 'What receivers found where mail did not pass:');
    for (const source of found)
      for (const { Text, Messages: n } of source.Found) lines.push(`  ${nameOf(source)}  ${n} × ${Text}`);
  }
  lines.push(
    '',
    table([
      ['REPORTED BY', 'SIGNED BY', 'REPORTS', 'MESSAGES', 'LAST'],
      ...Reporters.map((one) => [
        one.Name,
        one.SignedBy ?? 'not signed',
        String(one.Reports),
        String(one.Messages),
        one.LastAt,
      ]),
    ]),
  );
  return lines.join('\n');
}

function nameOf({ Address, Own }: Source): string {
  if (Address === null) return 'others';
  return Own ? `${Address} (this server)` : Address;
}

function share(part: number, whole: number): string {
  if (part === whole) return '100 %';
  // Never 100 % where something is missing.
  return `${Math.min(99.9, Math.round((1000 * part) / whole) / 10)} %`;
}
