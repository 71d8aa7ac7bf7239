/**
 * `setup`: from nothing to the first mail. Asks, shows what it will write, writes it, adds the sender domain, waits
 * for its records, creates a token and sends a test mail. Every answer is also a flag. Completed steps and known
 * answers are skipped, so it can be stopped at any point and run again.
 */
import { type Command, Option } from 'commander';
import { shownValue } from '../../config/shown.ts';
import { CONFIG_KEYS, type ConfigKey } from '../../config/table.ts';
import { loadConfig } from '../../config.ts';
import { openApi, runningApi } from '../api-client.ts';
import { keysGiven } from '../arguments.ts';
import { commandLine, quoted } from '../called-as.ts';
import type { CommandContext, CommandGroup } from '../command.ts';
import { giveToOwner } from '../files.ts';
import { CommandError, UsageError } from '../terminal.ts';
import { addressProblem, askAtTerminal, askNobody, Stopped } from './ask.ts';
import { addDomain } from './domain-step.ts';
import { nextSteps } from './end.ts';
import { chooseRecipient, sendTestMail } from './first-mail-step.ts';
import { chooseFolder } from './folder-step.ts';
import { chooseCertificates, chooseListeners } from './listener-step.ts';
import { chooseDomain, chooseHostname } from './name-step.ts';
import { addPerson } from './person-step.ts';
import { checkFlags, chooseRoute, withAnyPassword } from './route-step.ts';
import type { Setup, SetupOptions, SetupReport } from './setup.ts';
import { makeToken } from './token-step.ts';
import { agreePlan } from './write-step.ts';

/** Keys of `postrider.json` that are flags of this command. */
const KEYS = [
  'route',
  'hostname',
  'http',
  'submission',
  'submission-tls',
  'returns',
  'tls-cert',
  'tls-key',
  'http-certificate',
  'http-certificate-key',
  'public-url',
  'operator-address',
  'dns',
] as const satisfies readonly ConfigKey[];

/**
 * Signals that end the command in order, so that the data folder is given to the server's account even if the
 * terminal is closed.
 */
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

export const setupCommand: CommandGroup = (program) => {
  const command = program
    .command('setup [domain]')
    .description('configure this server step by step, up to the first mail; can be stopped and run again')
    .option('--yes', 'ask nothing; use flags, known values and defaults')
    .option(
      '--relay-password-file <file>',
      'file with the password for the user in --route; - reads standard input',
    )
    .option('--unit <file>', 'write the systemd unit to this file')
    .option('--no-unit', 'write no systemd unit')
    .option(
      '--user <name>',
      'account that the server runs as (default: the owner of the data folder, or postrider)',
    )
    .option('--zone-file <file>', 'write the DNS records to this file')
    .option('--wait', 'wait until the DNS records are published')
    .option('--no-wait', 'do not wait for them')
    .option('--no-token', 'create no token')
    .option('--person <email>', 'add this person, who may sign in to the dashboard as operator')
    .option('--test-to <address>', 'send a test mail to this address');
  for (const name of KEYS) {
    const { form, meaning } = CONFIG_KEYS[name];
    command.addOption(new Option(`--${name} <value>`, `${meaning} (${form})`.replaceAll('`', '')));
  }
  command
    .example(
      'postrider setup example.com',
      "postrider setup example.com --yes --route 'smtp://user@smtp.example.net:587' --relay-password-file password",
    )
    .runs(async (ctx, domain: string | undefined, given: SetupOptions & Record<string, unknown>) => {
      await runSetup(ctx, domain, given, keysGiven(KEYS, given), givenFlags(command));
    });
};

/**
 * The flags as they were given, each as words of a shell. A route with a password in it is left out: it is asked for
 * again, and is not shown.
 */
function givenFlags(command: Command): readonly string[] {
  return command.options.flatMap((option) => {
    const name = option.attributeName();
    const value: unknown = command.getOptionValue(name);
    if (command.getOptionValueSource(name) !== 'cli' || option.negate !== (value === false)) return [];
    if (typeof value !== 'string') return [`${option.long}`];
    const secret = name === 'route' && shownValue(name, value) !== value && withAnyPassword(value) === value;
    return secret ? [] : [`${option.long} ${quoted(value)}`];
  });
}

async function runSetup(
  ctx: CommandContext,
  domain: string | undefined,
  options: SetupOptions,
  flags: Setup['flags'],
  given: readonly string[],
): Promise<void> {
  const { terminal } = ctx;
  checkFlags(flags);
  checkAddress('--person', options.person);
  checkAddress('--test-to', options.testTo);
  const interrupt = new AbortController();
  const onSignal = () => interrupt.abort();
  for (const signal of SIGNALS) process.on(signal, onSignal);
  let report: SetupReport | null = null;
  try {
    const ask = options.yes === true ? askNobody() : await askAtTerminal(terminal, interrupt.signal);
    const data = await chooseFolder(ask, ctx.flags.data ?? terminal.environment.POSTRIDER_DATA);
    const setup = createSetup({ ctx, ask, data, options, flags, signal: interrupt.signal });
    report = setup.report;
    await runSteps(setup, domain, () => ctx.fail());
    ctx.print(report, report.Next.join('\n'));
  } catch (cause) {
    const written = report?.Written ?? [];
    // A token or a password is shown only once.
    const made = [report?.Token, report?.Person].some((one) => one !== null && one !== undefined);
    if (ctx.json && (made || written.length > 0)) ctx.print(report, '');
    if (!(cause instanceof Stopped)) throw cause;
    const stay = written.length === 1 ? 'stays' : 'stay';
    const kept = written.length === 0 ? 'nothing was written' : `${written.join(' and ')} ${stay} as written`;
    const words = ['setup', ...(domain === undefined ? [] : [domain]), ...given].join(' ');
    // The folder may have been typed at a prompt.
    const data = report?.DataFolder ?? ctx.flags.data;
    throw new CommandError(`stopped: ${kept}. To go on: ${commandLine(terminal, { data }, words)}`);
  } finally {
    for (const signal of SIGNALS) process.removeListener(signal, onSignal);
  }
}

/** An address that cannot be one is refused before anything is written. */
function checkAddress(flag: string, text: string | undefined): void {
  if (text !== undefined && addressProblem(text) !== undefined)
    throw new UsageError(`${flag} "${text}": use an address such as you@example.com`);
}

async function runSteps(setup: Setup, given: string | undefined, fail: () => void): Promise<void> {
  const { report, options } = setup;
  // An incomplete file, or a variable that cannot be read, is refused before the first question.
  setup.load();
  await chooseRoute(setup);
  const name = await chooseDomain(setup, given);
  await chooseHostname(setup, name);
  await chooseListeners(setup);
  await chooseCertificates(setup);
  for (const key of ['public-url', 'dns'] as const) {
    const flag = setup.flags[key];
    if (flag !== undefined) setup.answers[key] = flag;
  }
  const leaves = setup.load().config.route.some(({ kind }) => kind !== 'sandbox');
  const plan = await agreePlan(setup);
  let verified = false;
  try {
    await plan.write();
    await giveToOwner(setup.data, plan.user);
    // Without a domain and a person, the database is left to the first start of the server.
    if (name !== null || setup.ask.asks || options.person !== undefined) {
      await setup.withApi(async (api) => {
        const domain = name === null ? null : await addDomain(setup, api, name);
        if (domain !== null) await makeToken(setup, api, domain.Domain);
        await addPerson(setup, api);
        if (domain === null) return;
        verified = domain.Status === 'Verified';
        const why = verified ? (plan.changed && api.alone === null ? OLD_SETTINGS : null) : NOT_VERIFIED;
        const asked = why === null && (leaves || options.testTo !== undefined);
        const to = asked ? await chooseRecipient(setup) : null;
        if (to !== null && !(await sendTestMail(setup, api, domain, to))) fail();
        if (why !== null && options.testTo !== undefined) {
          setup.say(`No test mail was sent: ${why}.`);
          fail();
        }
      }, 'http,deliver');
    }
  } finally {
    // Also after an error.
    await giveToOwner(setup.data, plan.user);
  }
  const running = (await runningApi({ data: setup.data }, setup.terminal, false)) !== null;
  report.Next.push(...nextSteps(setup, { plan, name, verified, running }));
}

const NOT_VERIFIED = 'mail of the domain is refused until its records are published';
const OLD_SETTINGS = 'the server that runs has its old configuration until it is started again';

function createSetup(params: {
  ctx: CommandContext;
  ask: Setup['ask'];
  data: string;
  options: SetupOptions;
  flags: Setup['flags'];
  signal: AbortSignal;
}): Setup {
  const { ctx, ask, data, options, flags, signal } = params;
  const { terminal, version } = ctx;
  const answers: Setup['answers'] = {};
  const route = flags.route === undefined ? {} : { route: withAnyPassword(flags.route) };
  const stopped = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(new Stopped()), { once: true });
  });
  // If nobody is waiting when it happens, the next wait sees it.
  stopped.catch(() => undefined);
  const say = (text: string) => void terminal.stderr.write(`${text}\n`);
  return {
    ...{ ask, data, options, terminal, flags, answers, say },
    report: {
      DataFolder: data,
      Written: [],
      Checks: [],
      Domain: null,
      Token: null,
      Person: null,
      TestMail: null,
      Next: [],
    },
    load: () => loadConfig('serve', { ...flags, ...route, ...answers, data }, terminal.environment),
    async during(what, work) {
      if (what !== '') say(`${what} …`);
      return Promise.race([work, stopped]);
    },
    async withApi(work, roles) {
      const api = await openApi({ data }, terminal, version, roles === undefined ? {} : { roles });
      try {
        return await work(api);
      } finally {
        await api.close();
      }
    },
    command: (words) => commandLine(terminal, { data }, words),
  };
}
