/**
 * `dev` and `serve`: run the server in this process until a signal stops it. `dev` prints on standard output what a
 * new user needs, and logs to a file; `serve` logs to standard output and says on standard error where mail goes.
 */
import { openSync } from 'node:fs';
import { join } from 'node:path';
import type { Mode } from '../config/key-facts.ts';
import type { Config } from '../config/table.ts';
import { loadConfig } from '../config.ts';
import { systemClock } from '../lib/clock.ts';
import { makeFolder } from '../lib/data-files.ts';
import { StartRefused } from '../lib/errors.ts';
import { freeStart } from '../lib/free-start.ts';
import { createLoggers } from '../lib/log.ts';
import { createLogSink, isJournal, withPriorities } from '../lib/log-sink.ts';
import { isLoopbackHost } from '../lib/loopback.ts';
import { littleMemory } from '../lib/memory.ts';
import { ALLOW_MORE_FILES, tooFewFiles } from '../lib/open-files.ts';
import { reachOf } from '../model/personal.ts';
import type { RunningServer } from '../server.ts';
import { quoted } from './called-as.ts';
import { giveToOwner } from './files.ts';
import { explainStart, isLocked } from './start-errors.ts';
import { styled, type Terminal } from './terminal.ts';

/** After a signal, running transactions may take this long. */
const DRAIN_MS = 30_000;
const SAME_REQUEST_MS = 1_000;
/** A start that gets a signal is ended after this time; it may be changing a large database, or waiting for one. */
const START_GRACE_MS = 3_000;

/** Runs until SIGTERM or SIGINT, or until it cannot continue; resolves with the exit code. */
export async function runServer(
  mode: Mode,
  flags: Readonly<Record<string, string | undefined>>,
  terminal: Terminal,
  version: string,
): Promise<number> {
  const loaded = loadConfig(mode, flags, terminal.environment);
  const { config } = loaded;
  const logFile = mode === 'dev' ? join(config.data, 'postrider.log') : null;
  // Made private before the log is created there, because the folder contains secrets.
  explained(config, () => makeFolder(config.data));
  // Open from here on, so that messages of a start that fails are not lost.
  const fd = logFile === null ? 1 : explained(config, () => openSync(logFile, 'a', 0o600));
  const journal = isJournal(fd, terminal.environment.JOURNAL_STREAM);
  const sink = createLogSink(fd, systemClock, { journal });
  process.on('exit', () => sink.flush());
  const logs = createLoggers({
    destination: sink,
    level: config['log-level'],
    maskAddresses: config['mask-addresses'],
  });
  let started: RunningServer | null = null;
  // Before the start, because a signal may come as soon as the server answers.
  const signals = untilSignal(() => void started?.reload());
  void signals.asked.then(() => {
    if (started !== null) return;
    systemClock.setTimer(START_GRACE_MS, () => {
      if (started === null) process.exit(0);
    });
  });
  // Written at once: a start that changes a large database, or waits for one, may take minutes.
  logs.service.info({ version, data: config.data }, 'postrider starts');
  const memoryWarning = littleMemory();
  if (memoryWarning !== null) logs.service.warn({}, memoryWarning);
  sink.flush();
  const underTest = terminal.environment.NODE_ENV === 'test';
  let server: RunningServer;
  try {
    const tooFew = tooFewFiles();
    if (tooFew !== null) throw new StartRefused(tooFew);
    // Loaded here, so that commands that need no server start faster.
    const { startServer } = await import('../server.ts');
    server = await startServer({
      mode,
      loaded,
      logs,
      logTrouble: sink.trouble,
      version,
      command: commandStart(config, terminal),
      failpoints: underTest ? terminal.environment.POSTRIDER_FAILPOINT : undefined,
      kill: () => process.kill(process.pid, 'SIGKILL'),
    });
    started = server;
  } catch (cause) {
    signals.leave();
    const error = explainStart(cause, config);
    if (isLocked(cause as Error)) error.message += ' Or give this one a folder of its own with --data.';
    // A known error, such as a port in use, is one sentence; an unknown one is printed with its stack.
    const foreseen = error !== cause || error instanceof StartRefused;
    logs.service.error(foreseen ? { reason: error.message } : { err: cause }, 'could not start');
    throw error;
  }
  // Where root tries a server by hand, that of the folder's account must start after it, also if this one is killed.
  const give = () => giveToOwner(config.data).catch((cause: Error) => logs.service.warn({}, cause.message));
  await give();
  if (mode === 'dev') terminal.stdout.write(banner(server, config, terminal, logFile ?? ''));
  else writeStart(terminal, startLines(server, config));
  freeStart();

  const failed = server.failed.then((reason) => ({ reason }));
  const end = await Promise.race([signals.asked, failed]);
  if (typeof end === 'object') {
    logs.service.error(
      { reason: end.reason },
      'this process cannot go on; it gives back what it holds and ends',
    );
    writeStart(terminal, [
      { level: 'error', text: `postrider: ${end.reason}; the process ends and must be restarted` },
    ]);
  } else if (mode === 'dev') {
    terminal.stdout.write(`\n${end === 'SIGINT' ? 'Stopping.' : 'Stop requested.'}\n`);
  }
  // The next start reclaims what was not released by then.
  await server.stop(DRAIN_MS);
  await give();
  return typeof end === 'object' ? 1 : 0;
}

/** Turns an error of `work` into a sentence for the operator. */
function explained<Result>(config: Config, work: () => Result): Result {
  try {
    return work();
  } catch (cause) {
    throw explainStart(cause, config);
  }
}

/** `leave`: signals do again what they do without a server. */
function untilSignal(reload: () => void): { asked: Promise<NodeJS.Signals>; leave(): void } {
  const { promise: asked, resolve } = Promise.withResolvers<NodeJS.Signals>();
  let askedAtMs: number | null = null;
  const stop = (signal: NodeJS.Signals): void => {
    const nowMs = systemClock.monotonicMs();
    // A second signal while stopping ends the process at once. One directly after the first is the same Ctrl-C,
    // passed on by the launcher.
    if (askedAtMs !== null && nowMs - askedAtMs > SAME_REQUEST_MS) process.exit(130);
    askedAtMs ??= nowMs;
    resolve(signal);
  };
  const handlers = { SIGTERM: stop, SIGINT: stop, SIGHUP: reload };
  for (const [signal, handle] of Object.entries(handlers)) process.on(signal, handle);
  return {
    asked,
    leave() {
      for (const [signal, handle] of Object.entries(handlers)) process.off(signal, handle);
    },
  };
}

/** Fewer are too few for mail to many sites. */
const FEW_CONNECTIONS = 1000;

interface StartLine {
  level: 'info' | 'warn' | 'error';
  text: string;
}

/** As sentences at a terminal; elsewhere in the format of the log, because standard error is part of the log there. */
function writeStart(
  { stderr, environment }: Pick<Terminal, 'stderr' | 'environment'>,
  lines: readonly StartLine[],
): void {
  const journal = isJournal(2, environment.JOURNAL_STREAM);
  for (const { level, text } of lines) {
    const time = new Date(systemClock.now()).toISOString();
    const line = `${JSON.stringify({ level, time, stream: 'service', msg: text })}\n`;
    if (stderr.isTTY === true) stderr.write(`${text}\n`);
    else stderr.write(journal ? withPriorities(line) : line);
  }
}

/** Printed when `serve` starts: where mail goes, and what receivers may reject it for. */
function startLines(server: RunningServer, config: Config): readonly StartLine[] {
  const lines: StartLine[] = [];
  const tell = (text: string) => lines.push({ level: 'info', text });
  const warn = (text: string) => lines.push({ level: 'warn', text: `Warning: ${text}` });
  const at = config['http-certificate'] === null ? server.localUrl : server.publicUrl;
  tell(`postrider ${server.version} listens on ${at} with its data in ${config.data}`);
  const targets = config.route.map((route) => {
    if (route.kind === 'sandbox') return 'the sandbox: mail is captured, nothing leaves this machine';
    if (route.kind === 'mx') return `directly to the recipients' servers, port ${config['mx-port']}`;
    return `relay ${route.host}:${route.port}`;
  });
  tell(`Route: ${targets.join('; then ')}`);
  const { plain, tls } = server.submission;
  const ways = [
    plain === null ? '' : `${plain.host}:${plain.port}`,
    tls === null ? '' : `${tls.host}:${tls.port} (TLS)`,
  ];
  const taken = ways.filter((way) => way !== '').join(' and ');
  if (taken !== '') tell(`Programs submit mail by SMTP at ${taken}`);
  if (taken !== '' && config['tls-cert'] === null) {
    warn(
      'SMTP clients are shown a self-signed certificate, which most of them refuse. Set --tls-cert and --tls-key to one of an authority that they know.',
    );
  }
  if (server.returns !== null) {
    tell(`Bounces and complaints come back to ${server.returns.host}:${server.returns.port}`);
  }
  const unprotected = config['http-certificate'] === null && !server.publicUrl.startsWith('https:');
  if (unprotected && !isLoopbackHost(config.http.host)) {
    warn(
      `tokens and passwords of other machines reach ${config.http.host} in the clear. Set --http-certificate and --http-certificate-key, or put a proxy with TLS before this server and set --public-url to its https:// address.`,
    );
  }
  const leaves = config.route.some((route) => route.kind !== 'sandbox');
  if (leaves && reachOf(server.publicUrl) !== 'one-click') {
    warn(
      `links in mail would begin with ${server.publicUrl}. Large receivers require one-click unsubscribing of bulk mail, which needs https. Set --public-url to an address that readers can reach, e.g. https://mail.example.com.`,
    );
  }
  if (leaves && server.maxConnectionsInAll < FEW_CONNECTIONS) {
    warn(
      `mail leaves on at most ${server.maxConnectionsInAll} connections at once, because this process may open so few files. ${ALLOW_MORE_FILES}.`,
    );
  }
  if (leaves && !config.hostname.includes('.')) {
    warn(
      `the host name "${config.hostname}" is not a full name. Receivers refuse or distrust mail from it, and bounces cannot come back. Set --hostname to a name that leads to this machine, e.g. mail.example.com.`,
    );
  }
  return lines;
}

/** A warning if other machines can reach a development server. */
function exposedLine(server: RunningServer, config: Config): string {
  const { plain, tls } = server.submission;
  const open = [config.http, plain, tls, server.returns]
    .filter((at) => at !== null)
    .filter(({ host }) => !isLoopbackHost(host));
  if (open.length === 0) return '';
  const where = [...new Set(open.map(({ host }) => host))].join(', ');
  return `Warning: this development server listens on ${where}, so others can reach it. They need a token, and it travels unencrypted:
keep it within a network of your own, such as that of your containers.

`;
}

/** The program as its user calls it, with the data folder where that is not the usual one. */
function commandStart({ data }: Config, { calledAs }: Terminal): string {
  return `${calledAs()}${data === join(process.cwd(), 'postrider-data') ? '' : ` --data ${quoted(data)}`}`;
}

function banner(server: RunningServer, config: Config, terminal: Terminal, logFile: string): string {
  const head = (text: string) => styled(terminal.stdout, 'bold', text);
  const dim = (text: string) => styled(terminal.stdout, 'dim', text);
  const api = `${server.publicUrl}/api/v1`;
  const body = JSON.stringify({
    From: { name: 'Postrider', email: 'hello@example.com' },
    To: [{ name: 'You', email: 'you@example.net' }],
    Subject: 'It works',
    ContentType: 'HTML',
    HTMLContent: '<h1>It works</h1><p>Sent by postrider.</p>',
  });
  const command = (words: string) => `${commandStart(config, terminal)} ${words}`;
  const routes = config.route.map((route) => route.kind).join(', ');
  const isSandbox = routes === 'sandbox';
  const safe = isSandbox
    ? 'Every message is captured here; nothing leaves this machine.'
    : `Route: ${routes}. Messages leave this machine.`;
  const [pageName, pageWords] = isSandbox
    ? ['Inbox', 'captured mail in a browser']
    : ['Pages', 'the dashboard in a browser'];
  // What leaves is sent for domains of one's own only.
  const domainLines = isSandbox ? '' : `${command('domain add example.com --verified')}\n\n`;
  const capturedLine = isSandbox
    ? `\ncurl -sS ${api}/sandbox/messages -H "Authorization: Bearer $(cat ${join(config.data, 'admin-token')})"`
    : '';
  // On an address that other machines reach, the page would ask for a token.
  const inboxLine =
    config.expose || config['public-url'] !== null
      ? ''
      : `  ${head(pageName)}    ${server.publicUrl}/ ${dim(`(${pageWords})`)}\n`;
  const smtp = server.submission.plain;
  const smtpLine =
    smtp === null
      ? ''
      : `\n  ${head('SMTP')}     ${smtp.host}:${smtp.port} ${dim(config.expose ? '(from this machine any login or none, otherwise a token as password)' : '(any login, or none)')}`;
  const back = server.returns;
  const returnsLine = back === null ? '' : `\n  ${head('Returns')}  ${back.host}:${back.port}`;
  return `
${head(`postrider ${server.version}`)}  ${safe}

${inboxLine}  ${head('API')}      ${api}/
  ${head('Docs')}     ${api}/docs ${dim('(reference, with forms to try each operation)')}${smtpLine}${returnsLine}
  ${head('Token')}    ${server.adminToken}
  ${dim(`         (kept in ${join(config.data, 'admin-token')})`)}

${head('Send a message')} ${dim('(paste it in another terminal):')}

${domainLines}curl -sS ${api}/email \\
  -H 'Authorization: Bearer ${server.adminToken}' \\
  -H 'Content-Type: application/json' \\
  -d '${body}'

${head('Look at it:')}

${command('messages')}
${command('message MESSAGE_ID')}${capturedLine}

${exposedLine(server, config)}${dim(`Log: ${logFile}. Ctrl-C stops the server.`)}
`;
}
