/**
 * How mail leaves: through a relay, directly, or not at all. A relay is checked at once with the check of the doctor,
 * which connects, starts TLS and logs in as delivery does.
 */

import { shownValue } from '../../config/shown.ts';
import { CONFIG_KEYS } from '../../config/table.ts';
import { parseRoute } from '../../config-routing.ts';
import { allTargets } from '../../model/route.ts';
import { checkLines } from '../check-text.ts';
import { readBytes } from '../files.ts';
import { CommandError, UsageError } from '../terminal.ts';
import { machineChecks } from './machine-checks.ts';
import { type RelayAnswers, relayUrl } from './relay-url.ts';
import { known, type Setup } from './setup.ts';

type RouteAnswer = 'keep' | 'relay' | 'mx' | 'sandbox';

/** Sets the answer `route`. Throws CommandError if a relay does not work and nobody can be asked. */
export async function chooseRoute(setup: Setup): Promise<void> {
  const { ask, answers } = setup;
  const now = known(setup, 'route');
  // As it was typed: the configuration has a password that only completes the form.
  const text = setup.flags.route ?? now?.text;
  // null: what was entered is tried once more.
  let answer: RouteAnswer | null = now?.given === true ? 'keep' : await askRoute(setup, text);
  let relay = text;
  for (;;) {
    if (answer !== null) answers.route = await routeFor(setup, answer, relay);
    const failed = await tryRelays(setup);
    if (failed === null) return;
    if (!ask.asks) throw new CommandError(`${failed} Nothing was written`);
    const next = await ask.choose({
      flag: '--route',
      message: 'What now?',
      options: [
        { value: 'again', label: 'Enter the relay again' },
        { value: 'retry', label: 'Try it once more as it is' },
        { value: 'keep', label: 'Keep it as it is', hint: 'mail waits until the relay works' },
        { value: 'other', label: 'Let mail leave in another way', hint: 'directly, or not at all for now' },
      ],
      initial: 'again',
    });
    if (next === 'keep') return;
    relay = answers.route;
    answer = next === 'retry' ? null : next === 'again' ? 'relay' : await askRoute(setup, undefined);
  }
}

async function routeFor(setup: Setup, answer: RouteAnswer, before: string | undefined): Promise<string> {
  if (answer === 'keep') return withPassword(setup, before ?? '');
  return answer === 'relay' ? relayUrl(await askRelay(setup, before)) : answer;
}

/** `now`: the route that is set, which is offered too. */
async function askRoute({ ask }: Setup, now: string | undefined): Promise<RouteAnswer> {
  return ask.choose<RouteAnswer>({
    flag: '--route',
    message: 'How does mail leave this server?',
    options: [
      ...(now === undefined
        ? []
        : [{ value: 'keep' as const, label: `As now: ${shownValue('route', now)}` }]),
      { value: 'relay', label: 'Through a relay', hint: 'an SMTP account with a provider' },
      { value: 'mx', label: 'Directly', hint: 'needs outgoing port 25 and an address with reverse DNS' },
      { value: 'sandbox', label: 'Not at all', hint: 'mail is captured, to be looked at' },
    ],
    initial: now !== undefined ? 'keep' : ask.asks ? 'relay' : 'mx',
  });
}

/** Shows the results of the doctor; returns the sentences about failing relays, or null. */
async function tryRelays(setup: Setup): Promise<string | null> {
  const { config, routing } = setup.load();
  const targets = allTargets(config.route, routing.routes);
  if (!targets.some(({ kind }) => kind === 'relay')) return null;
  const checks = await machineChecks(setup, 'Connecting to the relay', (name) => name.startsWith('relay '));
  setup.say(checkLines(setup.terminal.stderr, checks).join('\n'));
  const failed = checks.filter(({ Status }) => Status === 'Failed');
  return failed.length === 0 ? null : failed.map(({ Message, Fix }) => `${Message} ${Fix}`).join(' ');
}

/**
 * A route on the command line may contain a user without the password, which other users could see in the list of
 * processes.
 */
async function withPassword(setup: Setup, text: string): Promise<string> {
  const relay = relayWithoutPassword(text);
  return relay === null ? text : relayUrl({ ...relay, password: await askPassword(setup, '') });
}

/** The same before anything is asked: with a password that only completes the form. */
export function withAnyPassword(text: string): string {
  const relay = relayWithoutPassword(text);
  return relay === null ? text : relayUrl({ ...relay, password: 'asked-later' });
}

function relayWithoutPassword(text: string): Omit<RelayAnswers, 'password'> | null {
  const relay = parseRoute(text);
  if (relay?.kind !== 'relay' || relay.auth === null) return null;
  const { host, port, implicitTls, auth } = relay;
  return auth.user === '' || auth.password !== '' ? null : { host, port, implicitTls, user: auth.user };
}

async function askRelay(setup: Setup, before: string | undefined): Promise<RelayAnswers> {
  const { ask } = setup;
  const old = before === undefined ? null : parseRoute(before);
  const relay = old?.kind === 'relay' ? old : null;
  const typed = await ask.text({
    flag: '--route',
    message: 'Host name of the relay, e.g. smtp.example.com',
    ...(relay === null ? {} : { initial: relay.host }),
    check: (text) =>
      /^[a-z0-9.:-]+$/i.test(text) && parseRoute(relayUrl({ ...EMPTY, ...hostAndPort(text) })) !== null
        ? undefined
        : 'Use a host name such as smtp.example.com.',
  });
  const { host, ...given } = hostAndPort(typed);
  const port = Number(
    await ask.text({
      flag: '--route',
      message: 'Port of the relay (587, or 465 for TLS from the start)',
      initial: String(given.port ?? relay?.port ?? 587),
      check: (text) =>
        /^\d{1,5}$/.test(text) && Number(text) >= 1 && Number(text) <= 65_535
          ? undefined
          : 'Use a number from 1 to 65535.',
    }),
  );
  const oldUser = relay?.auth?.user;
  const user = await ask.text({
    flag: '--route',
    message: 'User name at the relay (- if it needs none)',
    ...(oldUser === undefined ? {} : { initial: oldUser }),
    check: (text) => (text === '' ? 'Type the user name, or - for none.' : undefined),
  });
  const implicitTls = port === 465 || (relay?.port === port && relay.implicitTls);
  if (user === '-') return { ...EMPTY, host, port, implicitTls };
  const kept = relay?.host === host && oldUser === user ? (relay?.auth?.password ?? '') : '';
  return { host, port, implicitTls, user, password: await askPassword(setup, kept) };
}

/** Of `smtp.example.com:587`, as providers write it. An IPv6 address has more colons. */
function hostAndPort(text: string): { host: string; port?: number } {
  const [, host, port] = /^([^:]+):(\d{1,5})$/.exec(text) ?? [];
  return host === undefined ? { host: text } : { host, port: Number(port) };
}

const EMPTY: RelayAnswers = { host: '', port: 587, implicitTls: false, user: '', password: '' };

async function askPassword({ ask, options }: Setup, kept: string): Promise<string> {
  const file = options.relayPasswordFile;
  if (file !== undefined) return (await readBytes(file)).toString('utf8').replace(/\r?\n$/, '');
  const typed = await ask.secret({
    flag: '--relay-password-file',
    message: kept === '' ? 'Password at the relay' : 'Password at the relay (Enter keeps the present one)',
    check: (text) => (text === '' && kept === '' ? 'Type the password.' : undefined),
  });
  return typed === '' ? kept : typed;
}

/** A flag that cannot be read is refused before anything is asked. */
export function checkFlags(flags: Setup['flags']): void {
  for (const [name, text] of Object.entries(flags) as [keyof typeof CONFIG_KEYS, string][]) {
    const parsed = CONFIG_KEYS[name].parse(name === 'route' ? withAnyPassword(text) : text);
    if (!parsed.ok) throw new UsageError(`--${name} "${shownValue(name, text)}": ${parsed.fix}`);
  }
}
