/**
 * Where the server listens: the API always; SMTP submission and the listener for bounces if wanted. Every port is
 * tried, and the program that has a taken one is named. Then looks for certificates for the listeners.
 */
import { type ListenAddress, meet, parseListen, parseOptionalListen } from '../../config/forms.ts';
import { pidOfServer } from '../../lib/data-files.ts';
import { isLoopbackHost } from '../../lib/loopback.ts';
import { CommandError, UsageError } from '../terminal.ts';
import { addressProblem } from './ask.ts';
import { certificateProblem, findCertificate } from './certificate.ts';
import { type PortState, portState } from './port-state.ts';
import { known, type Setup } from './setup.ts';

const LISTENERS = ['http', 'submission', 'submission-tls', 'returns'] as const;
type Listener = (typeof LISTENERS)[number];
const HTTPS_PORT = 443;

/** Sets the answers `http`, `submission`, `submission-tls` and `returns` if they are not the defaults. */
export async function chooseListeners(setup: Setup): Promise<void> {
  const { ask } = setup;
  const direct = setup.load().config.route.some(({ kind }) => kind === 'mx');
  const leaves = setup.load().config.route.some(({ kind }) => kind !== 'sandbox');
  await settle(setup, 'http', await chooseHttp(setup));
  await optional('submission', '0.0.0.0:587', 'Do programs hand mail in by SMTP with a login', false);
  await settle(setup, 'submission-tls', known(setup, 'submission-tls')?.text ?? 'off');
  if (leaves || known(setup, 'returns') !== null)
    await optional('returns', '0.0.0.0:25', 'Receive bounces and complaints by SMTP', direct);
  await chooseOperator(setup);

  async function optional(key: Listener, usual: string, message: string, initial: boolean): Promise<void> {
    const now = known(setup, key);
    const address = now === null || now.text === 'off' ? usual : now.text;
    // Without a person, port 25 is only used if a flag requests it: it may be meant for another mail server.
    const usually = now === null ? initial && ask.asks : now.text !== 'off';
    const on =
      now?.given === true
        ? now.text !== 'off'
        : await ask.agree({ message: `${message}, at ${address}?`, initial: usually });
    await settle(setup, key, on ? address : 'off');
  }
}

/**
 * Where the API listens: an address that was given or serves other machines stays. Otherwise, if there is a certificate and
 * port 443 is free, asks whether other machines shall use HTTPS there.
 */
async function chooseHttp(setup: Setup): Promise<string> {
  const now = known(setup, 'http');
  const text = now?.text ?? '127.0.0.1:8025';
  const at = parseListen(text);
  if (now?.given === true || (at.ok && !isLoopbackHost(at.value.host))) return text;
  const { hostname, 'http-certificate': set } = setup.load().config;
  const certificate = set ?? (await findCertificate(hostname))?.cert;
  if (certificate === undefined) return text;
  const state = await portState({ host: '0.0.0.0', port: HTTPS_PORT });
  // If a web server has the port, it can be the proxy.
  if (state.kind === 'taken') return text;
  const message = `Let other machines use the API and the dashboard by HTTPS, at 0.0.0.0:${HTTPS_PORT}, with the certificate ${certificate}?`;
  return (await setup.ask.agree({ message, initial: false })) ? `0.0.0.0:${HTTPS_PORT}` : text;
}

/**
 * Sets the answer `operator-address`: needed if bounces are received, because mail to postmaster arrives there too.
 */
async function chooseOperator(setup: Setup): Promise<void> {
  const { ask, answers } = setup;
  const now = known(setup, 'operator-address');
  if (now?.given === true) answers['operator-address'] = now.text;
  if (now?.given === true || setup.load().config.returns === null) return;
  const text = await ask.text({
    flag: '--operator-address',
    message: 'Your address, for mail to postmaster and abuse (- to keep it in the spool)',
    initial: now?.text ?? '-',
    check: addressProblem,
  });
  if (text !== '-') answers['operator-address'] = text;
}

/** Uses `text` as the answer if the port is free; otherwise asks for another. */
async function settle(setup: Setup, key: Listener, first: string): Promise<void> {
  const { ask, answers } = setup;
  let text = known(setup, key)?.given === true ? (known(setup, key)?.text ?? first) : first;
  const own = pidOfServer(setup.data);
  for (;;) {
    const other = LISTENERS.find((one) => one !== key && isOnePort(answers[one] ?? 'off', text));
    const wrong =
      text === 'off'
        ? null
        : other === undefined
          ? await problem(text, own)
          : `is to be ${WORDS[other]} already`;
    if (wrong === null) {
      answers[key] = text;
      return;
    }
    if (!ask.asks)
      throw new CommandError(`${text} ${wrong}; choose another with --${key}. Nothing was written`);
    setup.say(`${text} ${wrong}.`);
    text = await ask.text({
      flag: `--${key}`,
      message: `Another address and port for ${WORDS[key]}`,
      initial: await freeNear(text),
      check: (typed) => {
        const parsed = key === 'http' ? parseListen(typed) : parseOptionalListen(typed);
        return parsed.ok ? undefined : parsed.fix;
      },
    });
  }
}

function isOnePort(a: string, b: string): boolean {
  const [one, other] = [parseOptionalListen(a), parseOptionalListen(b)];
  return one.ok && other.ok && one.value !== null && other.value !== null && meet(one.value, other.value);
}

const WORDS: Readonly<Record<Listener, string>> = {
  http: 'the API and the dashboard',
  submission: 'SMTP with a login',
  'submission-tls': 'SMTP with a login and TLS from the start',
  returns: 'bounces and complaints',
};

async function problem(text: string, own: number | null): Promise<string | null> {
  const parsed = parseListen(text);
  if (!parsed.ok) throw new UsageError(`"${text}": ${parsed.fix}`);
  const state: PortState = await portState(parsed.value);
  switch (state.kind) {
    case 'free':
    // A unit gives the server this right; without a unit, the last lines of `setup` say what is needed.
    case 'denied':
      return null;
    case 'elsewhere':
      return 'is not an address of this machine';
    case 'taken':
      if (state.holder === null) return 'is already in use';
      if (state.holder.pid === own) return null;
      return `is already in use by ${state.holder.name} (process ${state.holder.pid})`;
  }
}

const TRIED = 20;

async function freeNear(text: string): Promise<string> {
  const parsed = parseListen(text);
  if (!parsed.ok) return text;
  const { host, port } = parsed.value;
  const high = port < 1024 ? port + 2000 : port;
  for (let next = high + 1; next <= Math.min(high + TRIED, 65_535); next++) {
    const at: ListenAddress = { host, port: next };
    if ((await portState(at)).kind === 'free') return `${host.includes(':') ? `[${host}]` : host}:${next}`;
  }
  return text;
}

/** The purpose of a certificate, and its configuration keys. */
interface Use {
  keys: readonly ['tls-cert', 'tls-key'] | readonly ['http-certificate', 'http-certificate-key'];
  listeners: string;
  /** What the listeners do without a certificate. */
  without: string;
  /** Whether a listener is on that needs a certificate. */
  needed: boolean;
  /** The host name that clients connect to; the certificate must be for it. */
  host: string;
}

/** Sets the answers `tls-cert`, `http-certificate` and their keys if there is a certificate for the listeners. */
export async function chooseCertificates(setup: Setup): Promise<void> {
  const { config } = setup.load();
  await chooseCertificate(setup, {
    keys: ['tls-cert', 'tls-key'],
    listeners: 'the SMTP listeners',
    without: 'use a self-signed one',
    needed: [config.submission, config['submission-tls'], config.returns].some((at) => at !== null),
    host: config.hostname,
  });
  await chooseCertificate(setup, {
    keys: ['http-certificate', 'http-certificate-key'],
    listeners: 'the API and the dashboard',
    without:
      'take tokens and passwords of other machines in the clear, unless a proxy with TLS is before them',
    needed: !isLoopbackHost(config.http.host),
    host: config['public-url'] === null ? config.hostname : new URL(config['public-url']).hostname,
  });
}

async function chooseCertificate(setup: Setup, use: Use): Promise<void> {
  const { answers } = setup;
  const { config } = setup.load();
  const [certKey, keyKey] = use.keys;
  const { [certKey]: cert, [keyKey]: key } = config;
  if (cert !== null && key !== null) {
    const wrong = await certificateProblem(cert, key, use.host);
    if (wrong !== null && setup.flags[certKey] !== undefined)
      throw new CommandError(`${wrong}. Nothing was written`);
    if (wrong !== null) setup.say(`Warning: ${wrong}.`);
    answers[certKey] = cert;
    answers[keyKey] = key;
    return;
  }
  if (!use.needed) return;
  const found = await findCertificate(use.host);
  if (found === null) {
    setup.say(
      `No certificate for ${use.host} was found where certbot and Caddy keep theirs, so ${use.listeners} ${use.without}. Get one, then run setup again.`,
    );
    return;
  }
  const wrong = await certificateProblem(found.cert, found.key, use.host);
  if (wrong !== null) {
    setup.say(`Warning: ${wrong}, so ${use.listeners} ${use.without}.`);
    return;
  }
  setup.say(`${use.listeners.replace('the', 'The')} use the certificate ${found.cert}.`);
  answers[certKey] = found.cert;
  answers[keyKey] = found.key;
}
