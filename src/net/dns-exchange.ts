/**
 * One question to one DNS server: over UDP first, over TCP if the answer was truncated, or where nothing of a server comes
 * back over UDP. Returns a decoded message that answers exactly that question, or why there is none. Against forged
 * answers, every exchange uses a new socket with a random port, connected so that only the asked server is heard, and a
 * random id; anything that does not match is ignored. The last try is repeated, for networks that lose packets.
 */
import { createSocket } from 'node:dgram';
import { connect } from 'node:net';
import type { Clock } from '../lib/clock.ts';
import type { Random } from '../lib/random.ts';
import {
  type DnsMessage,
  decodeMessage,
  encodeQuery,
  type RecordType,
  recordTypes,
  responseCodes,
} from './dns-codec.ts';
import type { DnsFailureReason } from './dns-types.ts';
import { localFault } from './sockets.ts';
import type { DnsServer } from './system-resolvers.ts';

export interface Question {
  name: string;
  type: RecordType;
}

/** A question. Its tries may be under way at the same time: when it `isOver`, `stops` ends those that are left. */
export interface Asking {
  question: Question;
  isOver: boolean;
  stops: Set<() => void>;
}

export interface Try {
  /** The last for this server. */
  isLast: boolean;
  edns: boolean;
  /** There was no answer for a while. */
  onLate(): void;
}

export type Exchange =
  | { kind: 'answer'; message: DnsMessage }
  | { kind: 'failure'; reason: DnsFailureReason; detail: string };

interface DnsExchanges {
  ask(server: DnsServer, asking: Asking, how: Try): Promise<Exchange>;
  /** Ends those under way with a failure; later ones fail at once. */
  close(): void;
}

/** For a whole exchange over TCP. */
const TCP_TIMEOUT_MS = 3_000;
/** How long it counts that a server answered over UDP, or only over TCP. */
const TRANSPORT_MS = 10 * 60_000;

/** `isWaitedFor`: whether another question waits for a free place; then each try gets less time. */
export function createDnsExchanges(
  { clock, random }: { clock: Clock; random: Random },
  { timeoutMs, recursion, isWaitedFor }: { timeoutMs: number; recursion: boolean; isWaitedFor(): boolean },
): DnsExchanges {
  /** How a server is reached, and until when that is known. */
  const reached = new WeakMap<DnsServer, { over: 'udp' | 'tcp'; untilMs: number }>();
  const abortOpen = new Set<() => void>();
  let closed = false;

  return {
    ask,
    close() {
      closed = true;
      for (const abort of [...abortOpen]) abort();
    },
  };

  async function ask(server: DnsServer, asking: Asking, how: Try): Promise<Exchange> {
    let exchange = await askOnce(server, asking, how);
    // Servers that do not know EDNS refuse the OPT record itself (RFC 6891 §7).
    if (how.edns && exchange.kind === 'answer' && refusesEdns(exchange.message)) {
      exchange = await askOnce(server, asking, { ...how, edns: false });
    }
    if (exchange.kind === 'failure') return exchange;
    const problem = problemOf(exchange.message);
    return problem ?? exchange;
  }

  async function askOnce(server: DnsServer, asking: Asking, how: Try): Promise<Exchange> {
    if (isReached(server, 'tcp')) {
      const answer = await exchangeTcp(server, asking, how);
      if (answer.kind === 'answer') return answer;
      reached.delete(server);
    }
    const { promise: besides, resolve } = Promise.withResolvers<Exchange>();
    let isAsked = false;
    /** Where nothing comes back over UDP, as behind a firewall. A server that is silent for this name only is not asked. */
    const overTcp = async (): Promise<Exchange | null> => {
      if (!how.isLast || isAsked || isReached(server, 'udp')) return null;
      isAsked = true;
      const answer = await exchangeTcp(server, asking, how);
      if (answer.kind === 'failure') return null;
      note(server, 'tcp');
      resolve(answer);
      return answer;
    };
    const onLate = () => {
      how.onLate();
      void overTcp();
    };
    const exchange = await Promise.race([exchangeUdp(server, asking, { ...how, onLate }), besides]);
    if (exchange.kind === 'failure')
      return (exchange.reason === 'network' ? await overTcp() : null) ?? exchange;
    if (!isReached(server, 'tcp')) note(server, 'udp');
    if (!exchange.message.truncated) return exchange;
    const whole = await exchangeTcp(server, asking, how);
    if (whole.kind === 'answer') return whole;
    return { ...whole, detail: `the answer is too long for UDP, and over TCP: ${whole.detail}` };
  }

  function note(server: DnsServer, over: 'udp' | 'tcp'): void {
    reached.set(server, { over, untilMs: clock.monotonicMs() + TRANSPORT_MS });
  }

  function isReached(server: DnsServer, over: 'udp' | 'tcp'): boolean {
    const known = reached.get(server);
    return known?.over === over && clock.monotonicMs() < known.untilMs;
  }

  function newQuery(question: Question, edns: boolean): { id: number; packet: Uint8Array } {
    const bytes = random.bytes(2);
    const id = ((bytes[0] ?? 0) << 8) | (bytes[1] ?? 0);
    return { id, packet: encodeQuery({ id, ...question, edns, recursion }) ?? new Uint8Array() };
  }

  /** Runs `start` until it finishes, `limitMs` pass, the question is over or the client closes; then calls `release` once. */
  function bounded(
    limitMs: number,
    { isOver, stops }: Asking,
    start: (finish: (exchange: Exchange) => void) => () => void,
  ): Promise<Exchange> {
    // For queries that waited, or were about to continue over TCP, when the client closed.
    if (closed || isOver) return Promise.resolve(failure('network', 'the resolver is closed'));
    return new Promise((resolve) => {
      let finished = false;
      let release = () => {};
      const finish = (exchange: Exchange) => {
        if (finished) return;
        finished = true;
        timer.cancel();
        abortOpen.delete(abort);
        stops.delete(abort);
        release();
        resolve(exchange);
      };
      const abort = () => finish(failure('network', 'the resolver is closed'));
      const timer = clock.setTimer(limitMs, () => finish(failure('timeout', `no answer in ${limitMs} ms`)));
      abortOpen.add(abort);
      stops.add(abort);
      release = start(finish);
    });
  }

  function exchangeUdp(server: DnsServer, asking: Asking, { isLast, edns, onLate }: Try): Promise<Exchange> {
    const { id, packet } = newQuery(asking.question, edns);
    return bounded(3 * timeoutMs, asking, (finish) => {
      const socket = createSocket(server.address.includes(':') ? 'udp6' : 'udp4');
      socket.on('error', async (error) => finish(await notAsked(error, server)));
      socket.on('connect', () => socket.send(packet));
      socket.on('message', (bytes) => {
        const answer = readAnswer(bytes, id, asking.question);
        if (answer) finish(answer);
      });
      const onSilence = () => {
        onLate();
        if (isLast) socket.send(packet);
        else if (isWaitedFor()) {
          finish(failure('timeout', `no answer in ${timeoutMs} ms`));
          return;
        }
        timer = clock.setTimer(timeoutMs, onSilence);
      };
      let timer = clock.setTimer(timeoutMs, onSilence);
      // The kernel then drops datagrams from other senders and reports a closed port at once.
      socket.connect(server.port, server.address);
      return () => {
        timer.cancel();
        socket.close();
      };
    });
  }

  function exchangeTcp(server: DnsServer, asking: Asking, { edns }: Try): Promise<Exchange> {
    const { id, packet } = newQuery(asking.question, edns);
    return bounded(TCP_TIMEOUT_MS, asking, (finish) => {
      const socket = connect({ host: server.address, port: server.port });
      let received = Buffer.alloc(0);
      const onClose = () => finish(failure('network', 'closed before the answer was complete'));
      socket.on('error', async (error) => {
        socket.off('close', onClose);
        finish(await notAsked(error, server));
      });
      socket.on('close', onClose);
      socket.on('connect', () => socket.write(Buffer.concat([lengthPrefix(packet.length), packet])));
      socket.on('data', (chunk: Buffer) => {
        // Limited to one message of 65,535 bytes and the chunk that completes it.
        received = Buffer.concat([received, chunk]);
        if (received.length < 2) return;
        const end = 2 + received.readUInt16BE(0);
        if (received.length < end) return;
        const answer = readAnswer(received.subarray(2, end), id, asking.question);
        if (answer?.kind === 'answer' && answer.message.truncated) {
          finish(failure('malformed', 'truncated over TCP'));
        } else finish(answer ?? failure('malformed', 'an answer to something else'));
      });
      return () => socket.destroy();
    });
  }
}

/** What a datagram means for our question; undefined for a datagram that does not belong to it, which is ignored. */
function readAnswer(bytes: Uint8Array, id: number, question: Question): Exchange | undefined {
  if (bytes.length < 2 || (((bytes[0] ?? 0) << 8) | (bytes[1] ?? 0)) !== id) return undefined;
  const decoded = decodeMessage(bytes);
  if (decoded.kind === 'malformed') return failure('malformed', decoded.detail);
  const { message } = decoded;
  if (!message.isResponse) return undefined;
  // Servers that cannot read a query may answer without repeating it.
  const mayOmitQuestion = message.responseCode !== 0 && message.responseCode !== responseCodes.nameError;
  if (!message.question) {
    return mayOmitQuestion ? { kind: 'answer', message } : undefined;
  }
  const { name, typeCode, classCode } = message.question;
  if (name !== question.name || typeCode !== recordTypes[question.type] || classCode !== 1) return undefined;
  return { kind: 'answer', message };
}

function refusesEdns(message: DnsMessage): boolean {
  return (
    message.responseCode === responseCodes.formatError ||
    message.responseCode === responseCodes.notImplemented
  );
}

/** Why a matching message is not a usable answer; undefined if it is one. */
function problemOf(message: DnsMessage): Exchange | undefined {
  const { responseCode, question, answers, authority } = message;
  if (responseCode === responseCodes.serverFailure) return failure('servfail', 'SERVFAIL');
  if (responseCode === responseCodes.refused) return failure('refused', 'REFUSED');
  if (responseCode !== 0 && responseCode !== responseCodes.nameError) {
    return failure('servfail', `response code ${responseCode}`);
  }
  if (answers.some(({ name }) => name === question?.name)) return undefined;
  // Must not count as "no such record" either.
  if (answers.length > 0) return failure('malformed', 'an answer with records of other names only');
  // A lame server or a referral also has an empty answer, which must not count as "no such record" (RFC 2308 §2.2): a
  // broken delegation would become an implicit MX.
  const hasSoa = authority.some((record) => record.type === 'SOA');
  const isReferral = !hasSoa && authority.some((record) => record.type === 'NS');
  if (isReferral || !(message.authoritative || message.recursionAvailable)) {
    return failure('refused', 'lame: neither an answer nor authority to say there is none');
  }
  return undefined;
}

async function notAsked(error: NodeJS.ErrnoException, server: DnsServer): Promise<Exchange> {
  const fault = await localFault(error, server);
  return fault === null ? failure('network', error.message) : failure('local', fault);
}

function failure(reason: DnsFailureReason, detail: string): Extract<Exchange, { kind: 'failure' }> {
  return { kind: 'failure', reason, detail };
}

function lengthPrefix(length: number): Uint8Array {
  return Uint8Array.of(length >> 8, length & 0xff);
}
