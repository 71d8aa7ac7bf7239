/**
 * A client that speaks SMTP line by line, as a test dictates it, and shares no code with the product. Given a port, it
 * reads whole replies in order; it can change to TLS, send any octets, and says when the server has closed.
 */
import { connect, type Socket } from 'node:net';
import { connect as connectTls, type PeerCertificate, type TLSSocket } from 'node:tls';

export interface LineClient {
  /** Sends text (one octet a character) or octets; waits for nothing. */
  send(input: string | Uint8Array): void;
  /** The next whole reply, its lines joined by `\n`; '' when the server has closed. */
  reply(): Promise<string>;
  /** `send` with CRLF, then `reply`. */
  ask(line: string): Promise<string>;
  /** The handshake over the same connection; call after the 220. */
  secure(): Promise<void>;
  /** EHLO, STARTTLS, handshake, EHLO; the second answer to EHLO. */
  hello(): Promise<string>;
  /** AUTH PLAIN. */
  login(username: string, password: string): Promise<string>;
  /** MAIL, RCPT, DATA and the message (stuffed here); the last reply, or the first that refused. */
  transact(params: {
    from: string;
    to: readonly string[];
    data: string | Buffer;
    mail?: string;
  }): Promise<string>;
  readonly certificate: PeerCertificate;
  /** Resolves when the server has closed. */
  closed(): Promise<void>;
  close(): void;
}

/** Connects; `tls` begins with the handshake. The greeting is not read yet. */
export async function openLineClient(
  port: number,
  options: { tls?: boolean; host?: string } = {},
): Promise<LineClient> {
  const { host = '127.0.0.1' } = options;
  let socket: Socket | TLSSocket = options.tls
    ? connectTls({ port, host, rejectUnauthorized: false })
    : connect({ port, host, noDelay: true });
  let input = '';
  let ended = false;
  let wake: (() => void) | null = null;
  const rouse = () => {
    wake?.();
    wake = null;
  };
  const listen = (from: Socket) => {
    from.setEncoding('latin1');
    from.on('data', (text: string) => {
      input += text;
      rouse();
    });
    from.on('error', () => undefined);
    from.once('close', () => {
      ended = true;
      rouse();
    });
    from.once('end', () => {
      ended = true;
      rouse();
    });
  };
  await new Promise<void>((resolve, reject) => {
    socket.once(options.tls ? 'secureConnect' : 'connect', resolve);
    socket.once('error', reject);
  });
  listen(socket);

  const takeReply = (): string | null => {
    const lines: string[] = [];
    let at = 0;
    for (;;) {
      const end = input.indexOf('\r\n', at);
      if (end === -1) return null;
      const line = input.slice(at, end);
      lines.push(line);
      at = end + 2;
      if (line.charAt(3) !== '-') {
        input = input.slice(at);
        return lines.join('\n');
      }
    }
  };

  const client: LineClient = {
    send(data) {
      if (typeof data === 'string') socket.write(data, 'latin1');
      else socket.write(data);
    },
    async reply() {
      for (;;) {
        const found = takeReply();
        if (found !== null) return found;
        if (ended) return '';
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
    ask(line) {
      client.send(`${line}\r\n`);
      return client.reply();
    },
    async secure() {
      const plain = socket;
      plain.removeAllListeners();
      const secured = connectTls({ socket: plain, rejectUnauthorized: false });
      await new Promise<void>((resolve, reject) => {
        secured.once('secureConnect', resolve);
        secured.once('error', reject);
      });
      socket = secured;
      listen(secured);
    },
    async hello() {
      await client.ask('EHLO client.test');
      await client.ask('STARTTLS');
      await client.secure();
      return client.ask('EHLO client.test');
    },
    login: (username, password) =>
      client.ask(`AUTH PLAIN ${Buffer.from(`\0${username}\0${password}`).toString('base64')}`),
    async transact({ from, to, data, mail = '' }) {
      for (const line of [`MAIL FROM:<${from}>${mail}`, ...to.map((each) => `RCPT TO:<${each}>`), 'DATA']) {
        const answer = await client.ask(line);
        if (!/^[23]/.test(answer)) {
          await client.ask('RSET');
          return answer;
        }
      }
      const text =
        typeof data === 'string' ? Buffer.from(data, 'utf8').toString('latin1') : data.toString('latin1');
      client.send(`${text.replace(/(^|\r\n)\./g, '$1..')}.\r\n`);
      return client.reply();
    },
    get certificate() {
      return (socket as TLSSocket).getPeerCertificate();
    },
    async closed() {
      while (!ended) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
    close() {
      socket.destroy();
    },
  };
  return client;
}
