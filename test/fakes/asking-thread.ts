/** HTTP requests and mail by SMTP from a thread of their own, so that a test may measure the thread that answers them. */
import { Worker } from 'node:worker_threads';

export interface Asked {
  method: string;
  url: string;
  headers?: Record<string, string>;
  body?: Uint8Array;
}

export interface Submitted {
  port: number;
  message: Uint8Array;
  from?: string;
  to?: readonly string[];
}

export interface Told {
  status: number;
  bytes: number;
  /** The beginning of the answer. */
  text: string;
}

const PROGRAM = `
  const { parentPort } = require('node:worker_threads');
  const submit = async ({ port, message, from, to }) => {
    const socket = require('node:net').connect(port, '127.0.0.1');
    const lines = require('node:readline').createInterface({ input: socket })[Symbol.asyncIterator]();
    const reply = async () => {
      for (;;) {
        const { value, done } = await lines.next();
        if (done || value[3] !== '-') return value ?? 'closed';
      }
    };
    await reply();
    let last = '';
    const recipients = to.map((one) => 'RCPT TO:<' + one + '>');
    for (const line of ['EHLO test.example', 'MAIL FROM:<' + from + '>', ...recipients, 'DATA']) {
      socket.write(line + '\\r\\n');
      last = await reply();
    }
    if (last.startsWith('354')) {
      socket.write(message);
      socket.write('\\r\\n.\\r\\n');
      last = await reply();
    }
    socket.destroy();
    return last;
  };
  const follow = async (asked) => {
    const answers = await Promise.all(asked.map(({ url, ...rest }) => fetch(url, rest)));
    for (const { body } of answers) body.pipeTo(new WritableStream()).catch(() => {});
    return answers.map(({ status }) => status);
  };
  parentPort.on('message', async ({ method, url, headers, body, mail, followed }) => {
    try {
      if (mail !== undefined) return parentPort.postMessage(await submit(mail));
      if (followed !== undefined) return parentPort.postMessage(await follow(followed));
      const response = await fetch(url, { method, headers, body, redirect: 'manual', signal: AbortSignal.timeout(100000) });
      const bytes = Buffer.from(await response.arrayBuffer());
      parentPort.postMessage({ status: response.status, bytes: bytes.length, text: bytes.toString('utf8', 0, 300) });
    } catch (error) {
      parentPort.postMessage({ status: 0, bytes: 0, text: String(error && error.cause || error) });
    }
  });`;

/** One request at a time. A body is copied by the caller's thread, so before what it measures begins. */
export function createAskingThread() {
  const worker = new Worker(PROGRAM, { eval: true });
  return {
    /** Hands the request over; what it gives back begins nothing new on this thread. */
    ask({ body, ...rest }: Asked): Promise<Told> {
      const copy = body === undefined ? undefined : new Uint8Array(body);
      const { promise, resolve } = Promise.withResolvers<Told>();
      worker.once('message', resolve);
      worker.postMessage({ ...rest, body: copy }, copy === undefined ? [] : [copy.buffer]);
      return promise;
    },
    /** One message, without a login; the last reply of the server. */
    submit({ message, from = 'a@example.com', to = ['b@example.net'], ...rest }: Submitted): Promise<string> {
      const copy = new Uint8Array(message);
      const { promise, resolve } = Promise.withResolvers<string>();
      worker.once('message', resolve);
      worker.postMessage({ mail: { ...rest, from, to, message: copy } }, [copy.buffer]);
      return promise;
    },
    /** Opens answers that go on, and reads them until the thread ends; the status of each. */
    follow(followed: readonly Asked[]): Promise<number[]> {
      const { promise, resolve } = Promise.withResolvers<number[]>();
      worker.once('message', resolve);
      worker.postMessage({ followed });
      return promise;
    },
    end: () => worker.terminate(),
  };
}
