/**
 * The names: the sender domain, and the host name that this server uses in EHLO. For direct delivery the doctor's checks of the
 * machine follow: port 25, forward and reverse DNS, SPF of the host name, block lists.
 */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { domainToASCII } from 'node:url';
import type { Domain } from '../../client/api-types.ts';
import { domainText } from '../../config/forms.ts';
import { DATA_FILES } from '../../lib/data-files.ts';
import { everyItem } from '../api-client.ts';
import { checkLines } from '../check-text.ts';
import { UsageError } from '../terminal.ts';
import { machineChecks } from './machine-checks.ts';
import { known, type Setup } from './setup.ts';

/** The sender domain; null if there is none yet. `given`: from the arguments. */
export async function chooseDomain(setup: Setup, given: string | undefined): Promise<string | null> {
  const { ask, data } = setup;
  if (given !== undefined) {
    const wrong = domainProblem(given);
    if (wrong !== undefined) throw new UsageError(`"${given}": ${wrong}`);
    return domainToASCII(given);
  }
  const before = existsSync(join(data, DATA_FILES.database))
    ? await setup.withApi((api) => everyItem<Domain>(api, '/domains'))
    : [];
  if (before.length > 1 && !ask.asks) return null;
  const text = await ask.text({
    flag: 'A domain',
    message: 'Domain of the addresses that you send from, e.g. example.com (- to add it later)',
    initial: before[0]?.Domain ?? (ask.asks ? '' : '-'),
    check: (typed) => (typed === '-' ? undefined : domainProblem(typed)),
  });
  return text === '-' ? null : domainToASCII(text);
}

function domainProblem(text: string): string | undefined {
  const ascii = domainToASCII(text);
  return ascii.includes('.') && !/^[\d.]+$|_/.test(ascii) && domainText(ascii).ok
    ? undefined
    : ascii.includes('_')
      ? 'A domain of addresses has no underscore; use letters, digits and hyphens, e.g. example.com.'
      : 'Use a domain such as example.com.';
}

/** Leaves the answer `hostname`. */
export async function chooseHostname(setup: Setup, domain: string | null): Promise<void> {
  const { ask, answers } = setup;
  const { config } = setup.load();
  const now = known(setup, 'hostname');
  const own = config.hostname.includes('.') ? config.hostname : domain === null ? '' : `mail.${domain}`;
  answers.hostname =
    now?.given === true
      ? now.text
      : await ask.text({
          flag: '--hostname',
          message: 'Full host name of this server, which leads to it in DNS, e.g. mail.example.com',
          initial: now?.text ?? own,
          check: hostnameProblem,
        });
  if (!config.route.some(({ kind }) => kind === 'mx')) return;
  await examineDirect(setup, domain, now?.given === true);
}

function hostnameProblem(text: string): string | undefined {
  return text.includes('.') && !/^[\d.]+$/.test(text) && domainText(text).ok
    ? undefined
    : 'Use a full host name such as mail.example.com.';
}

const DIRECT = /^(?:name|port25|spf|resolver|ptr .*|dnsbl .*)$/;

async function examineDirect(setup: Setup, domain: string | null, fixed: boolean): Promise<void> {
  const { ask, answers, terminal } = setup;
  for (;;) {
    const checks = await machineChecks(
      setup,
      'Checking port 25 and the DNS of this server',
      (name) => DIRECT.test(name),
      domain === null ? [] : [domain],
    );
    setup.say(checkLines(terminal.stderr, checks).join('\n'));
    const ptr = checks.find(({ Name, Status }) => Name.startsWith('ptr ') && Status !== 'Ok');
    const name = ptr?.Found.find(
      (found) => hostnameProblem(found) === undefined && found !== answers.hostname,
    );
    if (fixed || !ask.asks || name === undefined) return;
    const take = await ask.agree({
      message: `The address of this server is called ${name} in DNS. Use that as the host name?`,
      initial: false,
    });
    if (!take) return;
    answers.hostname = name;
    fixed = true;
  }
}
