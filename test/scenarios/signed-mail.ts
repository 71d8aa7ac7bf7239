/** Looking at mail as its receiver does: header fields as they stand, and the DKIM verdict of an independent verifier. */
import { dkimVerify } from 'mailauth/lib/dkim/verify.js';
import type { Instance } from './harness.ts';

export interface ReceivedMail {
  /** Names in lower case, values unfolded, in order. */
  headers: readonly (readonly [name: string, value: string])[];
  /** All values of a field. */
  header(name: string): readonly string[];
  headerText: string;
  body: string;
}

/** Splits a message as it came; latin1 keeps every octet. */
export function readMail(bytes: Uint8Array): ReceivedMail {
  const text = Buffer.from(bytes).toString('latin1');
  const end = text.indexOf('\r\n\r\n');
  const headerText = text.slice(0, end + 2);
  const headers = headerText
    .replace(/\r\n(?=[ \t])/g, '')
    .split('\r\n')
    .filter((line) => line !== '')
    .map((line): [string, string] => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
    });
  return {
    headers,
    header: (name) => headers.filter(([own]) => own === name.toLowerCase()).map(([, value]) => value),
    headerText,
    body: text.slice(end + 4),
  };
}

/** The verdict over a domain whose DNS holds exactly what the API says to publish: `pass`, `fail`, … or `none`. */
export async function dkimVerdict(instance: Instance, domain: string, bytes: Uint8Array): Promise<string> {
  const { DnsRecords } = (await instance.call('GET', `/domains/${domain}`)).json as {
    DnsRecords: { Type: string; Host: string; Value: string }[];
  };
  const result = await dkimVerify(Buffer.from(bytes), {
    resolver: async (name: string, type: string) => {
      const found = DnsRecords.filter((record) => record.Host === name && record.Type === type);
      if (found.length === 0) throw Object.assign(new Error('no such name'), { code: 'ENOTFOUND' });
      return found.map((record) => [record.Value]);
    },
  });
  const own = result.results.find((one) => one.signingDomain === domain);
  return own?.status.result ?? 'none';
}
