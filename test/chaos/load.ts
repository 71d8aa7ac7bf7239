/**
 * A load of posters over keep-alive connections that keeps the books: which request was answered, with what, and which
 * one may or may not have been taken because the server died under it. Every request has an Idempotency-Key of its own,
 * which is also its Subject, so that both ends can be told apart by key.
 */
import { Agent, type IncomingHttpHeaders, request } from 'node:http';

export interface Posted {
  key: string;
  recipients: readonly string[];
  body: string;
  /** `answered` has a status; `refused` never reached the server; `lost` may have; `hung` got no answer in time. */
  outcome: 'answered' | 'refused' | 'lost' | 'hung';
  status: number;
  headers: IncomingHttpHeaders;
  messageId: string | null;
}

export interface Target {
  url: string;
  token: string;
}

export interface Load {
  /** Every request so far, in the order of their ends. */
  readonly posted: readonly Posted[];
  readonly acknowledged: number;
  /** Resolves when every poster has ended by itself (after `limit` requests, or a failure). */
  readonly done: Promise<unknown>;
  /** No more requests; resolves when those under way have ended. */
  stop(): Promise<void>;
}

export interface LoadOptions {
  posters: number;
  /** First part of every key; differs from load to load. */
  name: string;
  /** Recipients of the n-th request. */
  recipients?: (n: number) => readonly string[];
  /** Octets of text in every message. */
  textBytes?: number;
  /** Requests in all; without it the load goes on until it is stopped. */
  limit?: number;
  /** Goes on after refusals and broken connections (with a short rest) instead of ending. */
  insist?: boolean;
  answerMs?: number;
}

/** Acknowledged requests that are asked again after a crash. */
const REPLAYS = 20;

/** One to three recipients of three domains. */
export function ordinaryRecipients(n: number): readonly string[] {
  const count = n % 5 === 0 ? 3 : 1;
  return Array.from({ length: count }, (_, i) => `r${n}-${i}@domain${(n + i) % 3}.test`);
}

/** Starts `posters` loops that post one message after the other. */
export function startLoad(target: Target, options: LoadOptions): Load {
  const posted: Posted[] = [];
  let acknowledged = 0;
  let next = 0;
  let stopping = false;
  const text = 'x'.repeat(options.textBytes ?? 500);
  const poster = async (): Promise<void> => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    while (!stopping && next < (options.limit ?? Number.POSITIVE_INFINITY)) {
      const n = next++;
      const key = `${options.name}-${n}`;
      const recipients = (options.recipients ?? ordinaryRecipients)(n);
      const result = await post(target, { key, recipients, text, agent, answerMs: options.answerMs });
      posted.push(result);
      if (result.messageId !== null) acknowledged += 1;
      if (result.outcome === 'answered' && result.status === 200) continue;
      if (!options.insist) break;
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
    agent.destroy();
  };
  const loops = Promise.all(Array.from({ length: options.posters }, poster));
  return {
    posted,
    get acknowledged() {
      return acknowledged;
    },
    done: loops,
    async stop() {
      stopping = true;
      await loops;
    },
  };
}

/** Posts a request again exactly as it was, under its key. */
export function postAgain(target: Target, earlier: Posted): Promise<Posted> {
  return send(target, earlier.key, earlier.recipients, earlier.body, undefined, 10_000);
}

/**
 * Asks again for everything that had no 200, and for some that had; gives the books with those answers in. Throws where
 * an answer is not 200 or differs from the first one.
 */
export async function askAgain(target: Target, posted: readonly Posted[]): Promise<Posted[]> {
  const books: Posted[] = [];
  let replays = 0;
  for (const one of posted) {
    if (one.messageId !== null && replays++ >= REPLAYS) {
      books.push(one);
      continue;
    }
    const again = await postAgain(target, one);
    const replayed = again.headers['idempotency-replayed'] === 'true';
    if (again.status !== 200) throw new Error(`${one.key} asked again: ${again.outcome} ${again.status}`);
    if (one.messageId !== null && (again.messageId !== one.messageId || !replayed)) {
      throw new Error(`${one.key} was ${one.messageId} and is ${again.messageId} (replayed: ${replayed})`);
    }
    books.push(again);
  }
  return books;
}

/** Posts one message to `recipients` whose subject and idempotency key are `key`. */
export function post(
  target: Target,
  message: {
    key: string;
    recipients: readonly string[];
    text?: string;
    agent?: Agent;
    answerMs?: number | undefined;
  },
): Promise<Posted> {
  const body = JSON.stringify({
    From: { name: 'Sender', email: 'sender@example.com' },
    To: message.recipients.map((email) => ({ email })),
    Subject: message.key,
    ContentType: 'Text',
    PlainContent: message.text ?? 'text',
  });
  return send(target, message.key, message.recipients, body, message.agent, message.answerMs ?? 10_000);
}

function send(
  target: Target,
  key: string,
  recipients: readonly string[],
  body: string,
  agent: Agent | undefined,
  answerMs: number,
): Promise<Posted> {
  return new Promise((resolve) => {
    const end = (
      outcome: Posted['outcome'],
      status = 0,
      headers: IncomingHttpHeaders = {},
      text = '',
    ): void => {
      resolve({ key, recipients, body, outcome, status, headers, messageId: messageIdOf(status, text) });
    };
    let hung = false;
    const req = request(`${target.url}/api/v1/email`, {
      method: 'POST',
      ...(agent === undefined ? { agent: false } : { agent }),
      headers: {
        authorization: `Bearer ${target.token}`,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
        'idempotency-key': key,
      },
    });
    const timer = setTimeout(() => {
      hung = true;
      req.destroy();
    }, answerMs);
    req.on('response', (answer) => {
      let text = '';
      answer.setEncoding('utf8');
      answer.on('data', (chunk: string) => {
        text += chunk;
      });
      answer.on('end', () => {
        clearTimeout(timer);
        end('answered', answer.statusCode ?? 0, answer.headers, text);
      });
      answer.on('error', () => end(hung ? 'hung' : 'lost'));
    });
    req.on('error', (error: NodeJS.ErrnoException) => {
      clearTimeout(timer);
      end(hung ? 'hung' : error.code === 'ECONNREFUSED' ? 'refused' : 'lost');
    });
    req.end(body);
  });
}

function messageIdOf(status: number, text: string): string | null {
  if (status !== 200) return null;
  const answer = JSON.parse(text) as { MessageID?: unknown };
  if (typeof answer.MessageID !== 'string') throw new Error(`200 without a MessageID: ${text}`);
  return answer.MessageID;
}
