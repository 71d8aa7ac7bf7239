/**
 * Opens an SMTP session up to the first MAIL: connect, TLS from the start if requested, banner, EHLO (HELO for servers
 * without it), STARTTLS and EHLO again, AUTH. Takes one address of one server and the TLS requirements; returns an idle
 * session, or a failure with its stage and no connection. Nothing is retried here: the caller decides about another
 * host, less strict TLS, or plain text after a failed handshake.
 */
import type { Duplex } from 'node:stream';
import { connectTcp } from '../net/sockets.ts';
import { authenticate } from './client-auth.ts';
import { type Channel, type ChannelClose, createChannel } from './client-channel.ts';
import { createTlsContexts, startTls, type TlsFacts } from './client-tls.ts';
import { createSession } from './client-transactions.ts';
import {
  DEFAULT_TIMEOUTS,
  type OpenFailure,
  type OpenFailureReason,
  type OpenOptions,
  type OpenResult,
  type OpenStage,
  type Target,
  type Timeouts,
} from './client-types.ts';
import { commandLine } from './command-guard.ts';
import { Conversation } from './conversation.ts';
import { type Capabilities, NO_CAPABILITIES, parseCapabilities } from './ehlo.ts';
import type { Reply } from './reply.ts';

type Asked = { kind: 'reply'; reply: Reply } | { kind: 'closed'; close: ChannelClose };

/** Shared by the steps of opening. */
interface Opening {
  target: Target;
  options: OpenOptions;
  timeouts: Timeouts;
  log: Conversation;
  channel: Channel;
  tls: TlsFacts | null;
  capabilities: Capabilities;
  /** The fastest reply to a command so far. */
  roundTripMs: number;
}

/** A completed step, or the failure that ends the opening. */
type Step = { kind: 'ok' } | OpenFailure;

const OK: Step = { kind: 'ok' };

/** Sends `command` (with CRLF) if there is one, and waits for one reply; the log shows `shown`. */
function ask(opening: Opening, command: string | null, limitMs: number, shown: string): Promise<Asked> {
  const { channel, log } = opening;
  return new Promise((resolve) => {
    let askedMs = Number.NEGATIVE_INFINITY;
    if (channel.closed() === null && command !== null) {
      if (channel.buffered() > 0) {
        channel.close('protocol', 'the server spoke before it was asked');
      } else channel.write(command);
      askedMs = channel.nowMs();
      log.add(channel.nowMs(), shown);
    }
    channel.expectWithin(
      limitMs,
      command === null ? 'the greeting' : `the reply to ${shown.split(' ', 1)[0]}`,
    );
    channel.listen({
      onReply(reply) {
        // Exactly one reply per question: later input stays in the channel for the next question.
        channel.listen(null);
        log.add(channel.nowMs(), reply);
        opening.roundTripMs = Math.min(opening.roundTripMs, channel.nowMs() - askedMs);
        channel.expectNothing();
        resolve({ kind: 'reply', reply });
        return false;
      },
      onClose: (close) => resolve({ kind: 'closed', close }),
    });
  });
}

function failure(
  opening: { log: Conversation; tls?: TlsFacts | null },
  stage: OpenStage,
  reason: OpenFailureReason,
  detail: string,
  reply: Reply | null = null,
): OpenFailure {
  const { log, tls = null } = opening;
  return { kind: 'failed', stage, reply, reason, detail, tls, conversation: log };
}

function lost(opening: Opening, stage: OpenStage, close: ChannelClose): OpenFailure {
  const reason =
    close.reason === 'timeout' || close.reason === 'protocol'
      ? close.reason
      : close.reason === 'local'
        ? 'aborted'
        : 'reset';
  return failure(opening, stage, reason, close.detail, close.reply);
}

const said = (reply: Reply) => `${reply.code} ${reply.text}`.trimEnd().slice(0, 500);
const isPositive = (reply: Reply) => reply.code < 300;

function refused(opening: Opening, stage: OpenStage, reply: Reply): OpenFailure {
  if (reply.code >= 400) return failure(opening, stage, 'reply', said(reply), reply);
  return failure(opening, stage, 'protocol', `unexpected reply: ${said(reply)}`, reply);
}

async function awaitBanner(opening: Opening): Promise<Step> {
  const asked = await ask(opening, null, opening.timeouts.bannerMs, '');
  if (asked.kind === 'closed') return lost(opening, 'banner', asked.close);
  return isPositive(asked.reply) ? OK : refused(opening, 'banner', asked.reply);
}

async function sayHello(opening: Opening): Promise<Step> {
  const { heloName } = opening.options;
  const ehlo = heloName.includes(' ') ? null : commandLine(`EHLO ${heloName}`, false);
  if (ehlo === null) return failure(opening, 'ehlo', 'protocol', 'our own name cannot stand in EHLO');
  const first = await ask(opening, ehlo, opening.timeouts.ehloMs, ehlo);
  if (first.kind === 'closed') return lost(opening, 'ehlo', first.close);
  if (isPositive(first.reply)) {
    opening.capabilities = parseCapabilities(first.reply);
    return OK;
  }
  if (first.reply.code < 500) return refused(opening, 'ehlo', first.reply);
  const helo = `HELO ${heloName}\r\n`;
  const second = await ask(opening, helo, opening.timeouts.ehloMs, helo);
  if (second.kind === 'closed') return lost(opening, 'ehlo', second.close);
  if (!isPositive(second.reply)) return refused(opening, 'ehlo', second.reply);
  opening.capabilities = NO_CAPABILITIES;
  return OK;
}

/**
 * Performs the handshake on `socket` and continues on a new channel: no input from before the handshake is kept (RFC
 * 3207 §4.2).
 */
async function secure(opening: Opening, socket: Duplex): Promise<Step> {
  const { target, options, timeouts, log } = opening;
  const shaken = await startTls({
    socket,
    host: target.host,
    mode: options.tls === 'off' ? 'required' : options.tls,
    dane: options.dane ?? null,
    verifiedAs: options.verifiedAs ?? 'pkix',
    contexts: options.tlsContexts ?? createTlsContexts(),
    timeoutMs: timeouts.startTlsMs,
    clock: options.clock,
    smallClientHello: options.smallClientHello === true,
  });
  if (shaken.kind === 'failed') {
    opening.tls = shaken.facts;
    return failure(opening, 'tls', shaken.reason, shaken.detail);
  }
  opening.tls = shaken.facts;
  opening.channel = createChannel(shaken.socket, options.clock);
  log.add(opening.channel.nowMs(), `(${shaken.facts.protocol} ${shaken.facts.cipher})`);
  return OK;
}

async function startTlsIfAsked(opening: Opening): Promise<Step> {
  const { options, channel, timeouts } = opening;
  if (options.tls === 'off' || opening.tls !== null) return OK;
  const mandatory = options.tls !== 'opportunistic';
  if (!opening.capabilities.startTls) {
    return mandatory ? failure(opening, 'starttls', 'tls', 'the server does not offer STARTTLS') : OK;
  }
  const asked = await ask(opening, 'STARTTLS\r\n', timeouts.startTlsMs, 'STARTTLS');
  if (asked.kind === 'closed') return lost(opening, 'starttls', asked.close);
  if (!isPositive(asked.reply)) {
    // STARTTLS was offered and then refused (RFC 3207 §4: 454): the session continues without TLS only if TLS is not
    // required.
    return mandatory || asked.reply.code === 421 ? refused(opening, 'starttls', asked.reply) : OK;
  }
  if (channel.buffered() > 0) {
    return failure(
      opening,
      'starttls',
      'injection',
      'plaintext followed the reply to STARTTLS, as where somebody on the way injects commands',
    );
  }
  const socket = channel.detach();
  const step = await secure(opening, socket);
  return step.kind === 'ok' ? sayHello(opening) : step;
}

/** What a server that takes no login offers instead, and where: it may offer one on another port, or after TLS. */
function notOffered({ target, tls, capabilities }: Opening): string {
  const place = `on port ${target.port}${tls === null ? ' without TLS' : ''}`;
  return capabilities.auth.length === 0
    ? `the server offers no AUTH ${place}`
    : `the server offers neither AUTH PLAIN nor AUTH LOGIN ${place}, only ${capabilities.auth.join(', ').slice(0, 100)}`;
}

async function logIn(opening: Opening): Promise<Step> {
  const { options, timeouts, tls, capabilities } = opening;
  if (options.auth === undefined) return OK;
  if (tls?.authorized !== true && options.allowPlaintextAuth !== true) {
    return failure(opening, 'auth', 'auth', 'a password needs TLS with a verified certificate');
  }
  let ended: ChannelClose | null = null;
  const result = await authenticate({
    ...options.auth,
    offered: capabilities.auth,
    async ask(command, shown) {
      const asked = await ask(opening, `${command}\r\n`, timeouts.authMs, shown);
      if (asked.kind === 'reply') return asked.reply;
      ended = asked.close;
      return null;
    },
  });
  switch (result.kind) {
    case 'authenticated':
      return OK;
    case 'refused':
      return refused(opening, 'auth', result.reply);
    case 'impossible':
      return failure(opening, 'auth', 'auth', result.detail);
    case 'not-offered':
      return { ...failure(opening, 'auth', 'auth', notOffered(opening)), loginOffered: false };
    case 'lost':
      return lost(opening, 'auth', ended ?? { reason: 'closed', detail: 'connection ended', reply: null });
  }
}

async function runSteps(opening: Opening, socket: Duplex): Promise<Step> {
  const first = opening.target.implicitTls ? await secure(opening, socket) : OK;
  if (first.kind !== 'ok') return first;
  for (const step of [awaitBanner, sayHello, startTlsIfAsked, logIn]) {
    const result = await step(opening);
    if (result.kind !== 'ok') return result;
  }
  const buffered = opening.channel.buffered();
  const closed = opening.channel.closed();
  if (closed !== null) return lost(opening, 'ehlo', closed);
  if (buffered > 0) return failure(opening, 'ehlo', 'protocol', 'the server spoke before it was asked');
  return OK;
}

/** Failures after a reply that was read: the server expects the next command. */
const SERVER_WAITS: ReadonlySet<OpenFailureReason> = new Set(['reply', 'auth', 'tls']);

/** Connects and greets. Never throws; after a failure no connection is open. */
export async function openSession(target: Target, options: OpenOptions): Promise<OpenResult> {
  const { clock, signal } = options;
  const timeouts = { ...DEFAULT_TIMEOUTS, ...options.timeouts };
  const log = new Conversation(clock.monotonicMs());
  if (options.inClear !== undefined) log.add(clock.monotonicMs(), `(in the clear: ${options.inClear})`);
  const connected = await (options.connect ?? connectTcp)({
    address: target.address,
    port: target.port,
    localAddress: options.localAddress,
    timeoutMs: timeouts.connectMs,
    clock,
    signal,
  });
  if (connected.kind !== 'connected') {
    const isReset = connected.kind === 'error' && connected.detail === 'ECONNRESET';
    const reason = isReset ? 'reset' : connected.kind === 'error' ? 'unreachable' : connected.kind;
    return failure({ log }, 'connect', reason, connected.detail);
  }
  const { socket } = connected;
  const opening: Opening = {
    target,
    options,
    timeouts,
    log,
    // With TLS from the start the plain channel is not used: it hands its socket over at once.
    channel: createChannel(socket, clock),
    tls: null,
    capabilities: NO_CAPABILITIES,
    roundTripMs: Number.POSITIVE_INFINITY,
  };
  if (target.implicitTls) opening.channel.detach();
  const onAbort = () => {
    opening.channel.close('local', 'aborted');
    socket.destroy();
  };
  signal?.addEventListener('abort', onAbort, { once: true });
  const result = await runSteps(opening, socket);
  signal?.removeEventListener('abort', onAbort);
  if (result.kind === 'failed') {
    // RFC 5321 §4.1.1.10: not without QUIT where the server waits for a command.
    if (SERVER_WAITS.has(result.reason) && result.stage !== 'tls' && opening.channel.closed() === null)
      opening.channel.write('QUIT\r\n');
    opening.channel.close('local', 'opening failed');
    socket.destroy();
    return signal?.aborted === true ? { ...result, reason: 'aborted' } : result;
  }
  const { channel, capabilities, tls, roundTripMs } = opening;
  const inClear = tls === null ? (options.inClear ?? null) : null;
  const session = createSession({
    ...{ channel, peer: target, capabilities, tls, inClear, conversation: log, timeouts, roundTripMs },
  });
  return { kind: 'open', session };
}
