/**
 * Drives a server session in tests: takes octets in any chunks and returns what was written and what the handler was
 * asked. Handler answers come in the next microtask, as in the listener; `settle` waits until all of them are
 * processed.
 */
import type { Clock } from '../lib/clock.ts';
import { reply } from './server-reply.ts';
import { createServerSession } from './server-session.ts';
import {
  type AuthAttempt,
  SERVER_LIMITS,
  type ServerEnvelope,
  type ServerHandler,
  type ServerLimits,
  type ServerReply,
  type ServerSessionOptions,
} from './server-types.ts';

interface DriverOptions extends Partial<Omit<ServerSessionOptions, 'limits'>> {
  limits?: Partial<ServerLimits>;
  handler?: Partial<ServerHandler>;
  clock?: Clock;
}

const STILL_CLOCK: Clock = {
  now: () => 0,
  monotonicMs: () => 0,
  setTimer: () => ({ cancel: () => undefined }),
};

interface TakenMessage {
  from: string | null;
  to: readonly (string | null)[];
  text: string;
  eightBit: boolean;
  envelope: ServerEnvelope;
}

export function createDriver(options: DriverOptions = {}) {
  const written: string[] = [];
  const messages: TakenMessage[] = [];
  const attempts: AuthAttempt[] = [];
  const failures: unknown[] = [];
  let closed = false;
  let held = false;
  let tlsAsked = 0;
  const accepted: ServerReply = reply(250, '2.6.0', 'Queued');
  const { handler: own, limits, clock = STILL_CLOCK, ...rest } = options;
  const session = createServerSession(
    {
      clock,
      connection: {
        write: (text) => void written.push(text),
        pause: (wait) => {
          held = wait;
        },
        close: () => {
          closed = true;
        },
        startTls: () => {
          tlsAsked += 1;
        },
      },
      handler: {
        async onAuth(attempt) {
          attempts.push(attempt);
          return attempt.password === 'right' ? null : reply(535, '5.7.8', 'No');
        },
        onMail: async () => null,
        onRcpt: async (to) => (to.address?.local === 'nobody' ? reply(550, '5.1.1', 'Nobody') : null),
        async onMessage(envelope, message) {
          messages.push({
            from: envelope.from.address?.text ?? null,
            to: envelope.recipients.map(({ address }) => address?.text ?? null),
            text: Buffer.from(message.bytes).toString('latin1'),
            eightBit: message.eightBit,
            envelope,
          });
          return accepted;
        },
        onFailure(error) {
          failures.push(error);
          return null;
        },
        ...own,
      },
    },
    {
      hostname: 'mx.test',
      startTls: true,
      secured: false,
      auth: null,
      dsn: true,
      minLabels: 2,
      ...rest,
      limits: { ...SERVER_LIMITS, ...limits },
    },
  );
  /** Until the handler has answered everything: a few rounds of microtasks for each question. */
  const settle = async () => {
    let before = -1;
    while (before !== written.length || session.isBusy()) {
      before = written.length;
      for (let i = 0; i < 20; i += 1) await Promise.resolve();
      if (session.isBusy() && before === written.length) return;
    }
  };
  return {
    session,
    messages,
    attempts,
    failures,
    settle,
    /** How often something was written. */
    get writes() {
      return written.length;
    },
    get output() {
      return written.join('');
    },
    get closed() {
      return closed;
    },
    get held() {
      return held;
    },
    get tlsAsked() {
      return tlsAsked;
    },
    /** Sends and gives what was answered since the last call. */
    async say(input: string | Uint8Array): Promise<string> {
      const from = written.length;
      session.push(typeof input === 'string' ? Buffer.from(input, 'latin1') : input);
      await settle();
      return written.slice(from).join('');
    },
  };
}

/** A driver after its greeting and EHLO. */
export async function greeted(options: DriverOptions = {}) {
  const driver = createDriver(options);
  driver.session.start();
  await driver.say('EHLO client.test\r\n');
  return driver;
}

/** Code and enhanced code of each reply line that ends a reply. */
export function codes(output: string): string[] {
  return output
    .split('\r\n')
    .filter((line) => /^\d{3}(?: |$)/.test(line))
    .map((line) =>
      line.replace(/^(\d{3})(?: (\d\.\d+\.\d+))?.*$/, (_, code, enhanced) =>
        enhanced ? `${code} ${enhanced}` : code,
      ),
    );
}
