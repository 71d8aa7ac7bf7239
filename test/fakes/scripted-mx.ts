/**
 * A mail server that does what its script says, command by command: replies late, in halves or in drips, babbles,
 * closes, resets, plays every kind of STARTTLS. Any number of them may run, each on its own 127.0.0.x.
 * Given: a script. Leaves behind: for every connection the bytes of the wire exactly as they came, the commands and
 * the messages. What the script leaves out is answered as a plain, correct server would.
 */
import { createServer, type Server, type Socket } from 'node:net';
import { createSecureContext, TLSSocket } from 'node:tls';
import type { KeyPair } from './certificates.ts';

/** What to do instead of answering well. A string is a reply; lines are separated by "\n", and CRLF is added. */
export type Action =
  | string
  /** `silence`: nothing is said any more on this connection, but it is still read. */
  | { do: 'close' | 'half-close' | 'reset' | 'silence' }
  /** These bytes exactly. */
  | { do: 'raw'; bytes: string | Uint8Array }
  /** Part of a reply, then `next`. */
  | { do: 'half'; bytes: string; next: Action }
  /** The reply octet by octet, each in a turn of its own. */
  | { do: 'drip'; reply: string }
  /** These bytes again and again until the client is gone. */
  | { do: 'babble'; bytes: string }
  /** `next` once the promise resolves. */
  | { do: 'wait'; until: Promise<unknown>; next: Action }
  /** The reply, and the connection closed behind it. */
  | { do: 'last'; reply: string }
  /** Only as the answer to STARTTLS: 220 and a handshake with this pair; `demand`: a client certificate is asked for. */
  | { do: 'tls'; pair: KeyPair; demand?: boolean }
  /** 220, and then no TLS but this. */
  | { do: 'fake-tls'; bytes: string; next: 'stay' | 'close' }
  /** 220 with more plaintext in the same write, then a good handshake. */
  | { do: 'tls-inject'; bytes: string; pair: KeyPair };

export type Step =
  | 'banner'
  | 'ehlo'
  | 'helo'
  | 'starttls'
  | 'auth'
  | 'mail'
  | 'rcpt'
  | 'data'
  | 'dot'
  /** Once the octets of BDAT are in. */
  | 'bdat'
  | 'rset'
  | 'quit';

/** Per step one action for every time, or a list: the first for the first time, the last for all later ones. */
export type Script = Partial<Record<Step, Action | readonly Action[]>> & {
  /** Keywords of the EHLO reply. */
  capabilities?: readonly string[];
  /** Done once, when this many octets of a message came in. */
  inBody?: { afterBytes: number; action: Action };
  /** TLS from the first byte. */
  implicitTls?: KeyPair;
  /** Stop reading the connection at this step, so that the client's writes pile up. */
  deafFrom?: 'data';
  /** What came in behind the dot of a message by the time it was read is dropped. */
  dropsBehindDot?: true;
  /** The octets of BDAT are read as commands where it is refused. */
  readsBdatAsCommands?: true;
};

export interface ScriptedConnection {
  /** Everything received in clear text or under TLS, as the server read it. */
  readonly bytes: Buffer;
  /** The same, one entry per read. */
  readonly reads: readonly string[];
  /** Command lines without their end, in order. */
  readonly commands: readonly string[];
  /** Each message as it was on the wire: dots doubled, final ".\r\n" left out. */
  readonly messages: readonly Buffer[];
  readonly usedTls: boolean;
  /** Resolves when the connection is gone. */
  readonly ended: Promise<void>;
}

export interface ScriptedMx {
  readonly host: string;
  readonly port: number;
  readonly connections: readonly ScriptedConnection[];
  close(): Promise<void>;
}

const NOTHING: Buffer = Buffer.alloc(0);
const DEFAULT_CAPABILITIES = ['PIPELINING', 'SIZE 1000000', '8BITMIME'];

const wire = (reply: string) => `${reply.replaceAll('\n', '\r\n')}\r\n`;
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

function stepOf(line: string): Step | null {
  const verb = line.split(' ', 1)[0]?.toLowerCase();
  const steps: readonly Step[] = [
    ...(['ehlo', 'helo', 'starttls', 'auth', 'mail', 'rcpt', 'data', 'bdat', 'rset', 'quit'] as const),
  ];
  return steps.find((step) => step === verb) ?? null;
}

function play(plain: Socket, script: Script): ScriptedConnection & { destroy(): void } {
  const reads: string[] = [];
  const chunks: Buffer[] = [];
  const commands: string[] = [];
  const messages: Buffer[] = [];
  const used = new Map<Step, number>();
  let socket: Socket = plain;
  let input: Buffer = NOTHING;
  let inBody = false;
  /** Octets of BDAT that are awaited. */
  let chunk: number | null = null;
  /** Of the transaction, where CHUNKING is offered: such a server says 503 to what does not fit. */
  let envelope = { mail: false, rcpts: 0 };
  let bodyActionDone = false;
  let usedTls = false;
  let working = false;
  let muted = false;
  let markEnded = () => {};
  const ended = new Promise<void>((resolve) => {
    markEnded = resolve;
  });

  const strict = script.capabilities?.includes('CHUNKING') === true;
  const isOpen = () => !socket.destroyed && !plain.destroyed;
  const send = (bytes: string | Uint8Array) => {
    if (muted || !isOpen() || socket.writableEnded) return;
    if (typeof bytes === 'string') socket.write(bytes, 'latin1');
    else socket.write(bytes);
  };

  function scripted(step: Step, ordinary: Action): Action {
    const given = script[step];
    if (given === undefined) return ordinary;
    if (typeof given === 'string' || !Array.isArray(given)) return given as Action;
    const list = given as readonly Action[];
    const times = used.get(step) ?? 0;
    used.set(step, times + 1);
    return list[Math.min(times, list.length - 1)] ?? ordinary;
  }

  function ordinary(step: Step): Action {
    switch (step) {
      case 'banner':
        return '220 mx.test ESMTP';
      case 'ehlo': {
        const lines = ['mx.test', ...(script.capabilities ?? DEFAULT_CAPABILITIES)];
        return lines.map((line, i) => `250${i === lines.length - 1 ? ' ' : '-'}${line}`).join('\n');
      }
      case 'helo':
        return '250 mx.test';
      case 'data':
        return '354 go ahead';
      case 'rcpt':
        if (!strict) return '250 2.0.0 ok';
        return envelope.mail ? '250 2.1.5 this one is fine' : '503 5.5.1 MAIL first';
      case 'bdat':
        return envelope.rcpts === 0 ? '503 5.5.1 no valid recipients' : '250 2.6.0 message taken';
      case 'dot':
        return '250 2.0.0 kept';
      case 'quit':
        return { do: 'last', reply: '221 2.0.0 bye' };
      case 'auth':
        return '235 2.7.0 welcome';
      case 'starttls':
        return '454 4.7.0 no TLS here';
      default:
        return '250 2.0.0 ok';
    }
  }

  function handshake(pair: KeyPair, demand = false): void {
    detach();
    input = NOTHING;
    usedTls = true;
    socket = new TLSSocket(plain, {
      isServer: true,
      ...(demand ? { requestCert: true, rejectUnauthorized: true } : {}),
      secureContext: createSecureContext({ ...pair, minVersion: 'TLSv1', ciphers: 'DEFAULT@SECLEVEL=0' }),
    });
    attach();
  }

  async function perform(action: Action): Promise<void> {
    if (typeof action === 'string') return send(wire(action));
    switch (action.do) {
      case 'close':
        plain.destroy();
        return;
      case 'half-close':
        socket.end();
        return;
      case 'reset':
        plain.resetAndDestroy();
        return;
      case 'silence':
        muted = true;
        return;
      case 'raw':
        return send(action.bytes);
      case 'half':
        send(action.bytes);
        await turn();
        return perform(action.next);
      case 'drip':
        for (const octet of wire(action.reply)) {
          send(octet);
          await turn();
          if (!isOpen()) return;
        }
        return;
      case 'babble':
        while (isOpen()) {
          if (socket.write(action.bytes, 'latin1')) await turn();
          else
            await new Promise<void>((resolve) => {
              socket.once('drain', resolve);
              socket.once('close', () => resolve());
            });
        }
        return;
      case 'wait':
        await action.until;
        return perform(action.next);
      case 'last':
        send(wire(action.reply));
        socket.end();
        return;
      case 'tls':
        send('220 2.0.0 go ahead\r\n');
        return handshake(action.pair, action.demand);
      case 'tls-inject':
        send(`220 2.0.0 go ahead\r\n${action.bytes}`);
        return handshake(action.pair);
      case 'fake-tls':
        send('220 2.0.0 go ahead\r\n');
        detach();
        // What the client says from here on is its ClientHello.
        plain.once('data', () => {
          send(action.bytes);
          if (action.next === 'close') plain.end();
        });
    }
  }

  async function takeBody(): Promise<boolean> {
    const spoken = script.inBody;
    if (spoken !== undefined && !bodyActionDone && input.length >= spoken.afterBytes) {
      bodyActionDone = true;
      await perform(spoken.action);
    }
    const empty = input.subarray(0, 3).toString('latin1') === '.\r\n';
    const end = empty ? 0 : input.indexOf('\r\n.\r\n');
    if (end === -1) return false;
    messages.push(empty ? NOTHING : input.subarray(0, end + 2));
    input = script.dropsBehindDot === true ? NOTHING : input.subarray(empty ? 3 : end + 5);
    inBody = false;
    await perform(scripted('dot', ordinary('dot')));
    return true;
  }

  async function takeChunk(octets: number): Promise<boolean> {
    const action = scripted('bdat', ordinary('bdat'));
    const eaten = script.readsBdatAsCommands !== true || JSON.stringify(action).startsWith('"2');
    if (eaten && input.length < octets) return false;
    chunk = null;
    if (eaten && commands.at(-2) !== 'RSET') messages.push(input.subarray(0, octets));
    if (eaten) input = input.subarray(octets);
    envelope = { mail: false, rcpts: 0 };
    await perform(action);
    return true;
  }

  /** What an answer makes of the transaction. */
  function note(step: Step | null, action: Action): void {
    const isGood = typeof action === 'string' && action.startsWith('2');
    if (step === 'rset') envelope = { mail: false, rcpts: 0 };
    else if (step === 'mail') envelope = { mail: isGood, rcpts: 0 };
    else if (step === 'rcpt' && isGood) envelope.rcpts += 1;
  }

  async function takeCommand(): Promise<boolean> {
    const end = input.indexOf('\r\n');
    if (end === -1) return false;
    const line = input.toString('utf8', 0, end);
    input = input.subarray(end + 2);
    commands.push(line);
    if (strict && /^BDAT \d+ LAST$/.test(line)) {
      chunk = Number(line.split(' ')[1]);
      return true;
    }
    const step = stepOf(line) ?? (commands.some((earlier) => earlier.startsWith('AUTH')) ? 'auth' : null);
    const action = step === null ? '502 5.5.1 unknown command' : scripted(step, ordinary(step));
    note(step, action);
    const positive = JSON.stringify(action).includes('354');
    if (step === 'data' && positive) inBody = true;
    if (step === 'data' && script.deafFrom === 'data') socket.pause();
    await perform(action);
    return true;
  }

  async function work(): Promise<void> {
    if (working) return;
    working = true;
    while (isOpen() && (await (inBody ? takeBody() : chunk === null ? takeCommand() : takeChunk(chunk))));
    working = false;
  }

  const onData = (chunk: Buffer) => {
    chunks.push(chunk);
    reads.push(chunk.toString('latin1'));
    input = Buffer.concat([input, chunk]);
    void work();
  };
  const ignore = () => {};
  function attach(): void {
    socket.on('data', onData);
    socket.on('error', ignore);
    socket.on('end', () => socket.end());
  }
  function detach(): void {
    socket.off('data', onData);
  }

  plain.setNoDelay(true);
  plain.on('error', ignore);
  plain.on('close', () => markEnded());
  if (script.implicitTls !== undefined) handshake(script.implicitTls);
  else attach();
  void perform(scripted('banner', ordinary('banner')));
  return {
    get bytes() {
      return Buffer.concat(chunks);
    },
    reads,
    commands,
    messages,
    get usedTls() {
      return usedTls;
    },
    ended,
    destroy: () => plain.destroy(),
  };
}

/** Starts one on `host` (127.0.0.1) and `port` (a free one). A list of scripts is played one per connection, in order. */
export async function startScriptedMx(
  script: Script | readonly Script[] = {},
  options: { host?: string; port?: number } = {},
): Promise<ScriptedMx> {
  const host = options.host ?? '127.0.0.1';
  const scripts: readonly Script[] = Array.isArray(script) ? script : [script as Script];
  const connections: ReturnType<typeof play>[] = [];
  const server: Server = createServer({ allowHalfOpen: true }, (socket) => {
    const mine = scripts[Math.min(connections.length, scripts.length - 1)] ?? {};
    connections.push(play(socket, mine));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port ?? 0, host, resolve);
  });
  const address = server.address();
  return {
    host,
    port: typeof address === 'object' && address !== null ? address.port : 0,
    connections,
    async close() {
      for (const connection of connections) connection.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
