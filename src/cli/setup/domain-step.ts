/**
 * The sender domain: added through the API as by `domain add`, its records shown, and looked up until they are
 * published. Ctrl-C ends the wait; a later `setup` continues there.
 */

import { readFile, stat } from 'node:fs/promises';
import type { Doctor, Domain } from '../../client/api-types.ts';
import { type Clock, sleep, systemClock } from '../../lib/clock.ts';
import { type Api, everyItem } from '../api-client.ts';
import { checkLines } from '../check-text.ts';
import { refuseExisting, writeText } from '../files.ts';
import { recordsText } from '../record-text.ts';
import { CommandError, table } from '../terminal.ts';
import type { Setup } from './setup.ts';

/** The API looks up a domain at most once in ten seconds. */
const EVERY_MS = 11_000;

/** The domain as it stands at the end. */
export async function addDomain(setup: Setup, api: Api, name: string): Promise<Domain> {
  const { ask, options, report, terminal } = setup;
  const there = (await everyItem<Domain>(api, '/domains')).find(({ Domain }) => Domain === name);
  const added = there ?? (await api.call<Domain>('POST', '/domains', { Domain: name }));
  let domain = await setup.during(`Looking up the records of ${name}`, lookUp(api, added));
  if (domain.Status !== 'Verified') {
    setup.say(`\n${recordsText(terminal.stderr, domain)}\n`);
    setup.say(recordTable(domain));
  }
  if (options.zoneFile !== undefined) await writeZone(setup, api, name, options.zoneFile);
  else if (domain.Status !== 'Verified')
    setup.say(`\nThe same as a zone file: ${setup.command(`doctor ${name} --zone`)}`);
  const wait =
    domain.Status !== 'Verified' &&
    (options.wait ??
      (await ask.agree({
        message: 'Publish these records at your DNS provider. Wait here until they are seen?',
        initial: ask.asks,
      })));
  if (wait) {
    domain = await waitUntilVerified({
      clock: systemClock,
      domain,
      lookUp: () => setup.during('', lookUp(api, added)),
      show: (text) => setup.say(text),
      pause: (ms) => setup.during('', sleep(systemClock, ms)),
    });
  }
  // Before the records are published, the checks would only repeat the table.
  const checks = domain.Status === 'Pending' ? [] : checkLines(terminal.stderr, domain.Checks);
  setup.say(`\n${[`${name}: ${domain.Status}`, ...checks].join('\n')}`);
  report.Domain = { Domain: domain.Domain, Status: domain.Status, DnsRecords: domain.DnsRecords };
  return domain;
}

/** The result of a check now, or of the last one if it was made a moment ago. */
async function lookUp(api: Api, { Domain }: Domain): Promise<Domain> {
  const path = `/domains/${encodeURIComponent(Domain)}`;
  try {
    return await api.call<Domain>('POST', `${path}/verify`);
  } catch (cause) {
    if (!(cause instanceof CommandError)) throw cause;
    return await api.call<Domain>('GET', path);
  }
}

function recordTable({ DnsRecords }: Domain): string {
  return table([
    ['FOR', 'TYPE', 'HOST', 'NEEDED', 'SEEN'],
    ...DnsRecords.map(({ Purpose, Type, Host, Need, Status }) => [
      Purpose,
      Type,
      Host,
      Need === 'Required' ? 'yes' : Need.toLowerCase(),
      Status === 'Ok' ? 'yes' : Status === 'Unknown' ? '-' : 'no',
    ]),
  ]);
}

async function writeZone(setup: Setup, api: Api, name: string, file: string): Promise<void> {
  const query = `?Domain=${encodeURIComponent(name)}`;
  const answer = await setup.during('', api.call<Doctor>('GET', `/doctor${query}`));
  const text = answer.Domains[0]?.Zone ?? '';
  // A second run finds the file of the first. A pipe has no end to read to.
  const isFile = (await stat(file).catch(() => null))?.isFile() === true;
  const isSame = isFile && (await readFile(file, 'utf8').catch(() => null)) === text;
  await refuseExisting(file, isSame, 'remove it');
  await writeText(file, text);
  setup.say(`The records as a zone file: ${file}`);
  setup.report.Written.push(file);
}

/** Looks up the records repeatedly, and says what is missing whenever that changes. Returns the verified domain. */
export async function waitUntilVerified(params: {
  clock: Clock;
  domain: Domain;
  lookUp(): Promise<Domain>;
  show(text: string): void;
  pause(ms: number): Promise<void>;
}): Promise<Domain> {
  const { clock, lookUp, show, pause } = params;
  let { domain } = params;
  let shown = '';
  for (;;) {
    if (domain.Status === 'Verified') return domain;
    const missing = domain.Checks.filter(({ BlocksSending, Status }) => BlocksSending && Status !== 'Ok');
    const hosts = [...new Set(missing.map(({ Host }) => Host))].join(', ');
    if (hosts !== shown) {
      const time = new Date(clock.now()).toISOString().slice(11, 19);
      show(
        `${time}  Waiting for: ${hosts || domain.Domain}  (looked up every ${EVERY_MS / 1000} s; Ctrl-C leaves)`,
      );
      shown = hosts;
    }
    await pause(EVERY_MS);
    domain = await lookUp();
  }
}
