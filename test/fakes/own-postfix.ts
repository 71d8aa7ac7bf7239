/**
 * A real Postfix as the far end: an instance of its own with configuration, queue and data below one folder, its
 * listener on a free loopback port, every recipient of one domain but `nobody` delivered into one Maildir. Needs root, because
 * Postfix gives its processes other users. The system's own instance is not touched.
 */
import { execFileSync, spawn } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import type { AddressInfo, Socket } from 'node:net';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface OwnPostfix {
  readonly port: number;
  /** Messages of the Maildir as they lie there, with line ends as on the wire again. */
  mail(): Buffer[];
  /** What Postfix logged. */
  log(): string;
  stop(): Promise<void>;
}

const MASTER = '/usr/share/postfix/master.cf.dist';
/** `nobody` on every Debian; Postfix delivers to virtual mailboxes under no user below 100. */
const MAIL_UID = 65_534;

/** Why it cannot be run here, or null. */
export function postfixMissing(): string | null {
  if (!existsSync('/usr/sbin/postfix') || !existsSync(MASTER)) return 'postfix is not installed';
  return process.getuid?.() === 0 ? null : 'postfix needs root';
}

/**
 * Starts it; takes about a second. `domain`: every recipient there but `nobody` exists. `tls`: offered with STARTTLS.
 * `bounces`: `gone` is taken too, refused afterwards, and the report goes to that port for that domain.
 */
export async function startOwnPostfix(options: {
  domain: string;
  tls?: { key: string; cert: string };
  bounces?: { domain: string; port: number };
  /** Lines of an access table for recipients: address or local part with `@`, and what to do. */
  recipients?: readonly string[];
  /** Turns away what it does not know with 450 until this many milliseconds have gone by. */
  greylistMs?: number;
  /** `encrypt`: mail is taken over TLS only. */
  tlsLevel?: 'may' | 'encrypt';
}): Promise<OwnPostfix> {
  const dir = mkdtempSync(join(tmpdir(), 'postrider-postfix-'));
  chmodSync(dir, 0o755);
  const [config, queue, data, boxes] = ['config', 'queue', 'data', 'mail'].map((name) => join(dir, name));
  if (config === undefined || queue === undefined || data === undefined || boxes === undefined)
    throw new Error();
  for (const folder of [config, queue, data, boxes]) mkdirSync(folder, { mode: 0o755 });
  chownSync(boxes, MAIL_UID, MAIL_UID);
  execFileSync('chown', ['postfix', data]);
  if (options.tls !== undefined) {
    writeFileSync(join(config, 'tls.pem'), `${options.tls.key}${options.tls.cert}`, { mode: 0o600 });
  }
  const port = await freePort();
  const greylist = options.greylistMs === undefined ? null : await startGreylist(options.greylistMs);
  const greylisting = greylist === null ? '' : `check_policy_service inet:127.0.0.1:${greylist.port}, `;
  const settings: Record<string, string> = {
    compatibility_level: '3.6',
    queue_directory: queue,
    data_directory: data,
    multi_instance_name: `postfix-own-${port}`,
    mail_owner: 'postfix',
    setgid_group: 'postdrop',
    myhostname: 'mx.reader.example',
    mydestination: '',
    local_recipient_maps: '',
    alias_maps: '',
    mynetworks: '',
    inet_interfaces: '127.0.0.1',
    inet_protocols: 'ipv4',
    disable_dns_lookups: 'yes',
    smtpd_peername_lookup: 'no',
    smtpd_relay_restrictions: 'reject_unauth_destination',
    smtpd_recipient_restrictions: `${greylisting}check_recipient_access texthash:${join(config, 'recipients')}, reject_unauth_destination`,
    // As strict as it gets: a client with bare line feeds or unsolicited pipelining is turned away.
    smtpd_forbid_bare_newline: 'yes',
    smtpd_forbid_unauth_pipelining: 'yes',
    strict_rfc821_envelopes: 'yes',
    virtual_mailbox_domains: options.domain,
    virtual_mailbox_base: boxes,
    virtual_mailbox_maps: 'static:inbox/',
    virtual_uid_maps: `static:${MAIL_UID}`,
    virtual_gid_maps: `static:${MAIL_UID}`,
    virtual_mailbox_limit: '0',
    smtpd_tls_security_level: options.tls === undefined ? 'none' : (options.tlsLevel ?? 'may'),
    smtpd_tls_loglevel: '1',
    ...(options.tls === undefined ? {} : { smtpd_tls_chain_files: join(config, 'tls.pem') }),
    ...(options.bounces === undefined ? {} : { transport_maps: `texthash:${join(config, 'transport')}` }),
    maillog_file: join(dir, 'mail.log'),
    maillog_file_prefixes: dir,
  };
  const text = Object.entries(settings).map(([key, value]) => `${key} = ${value}\n`);
  writeFileSync(join(config, 'main.cf'), text.join(''));
  if (options.bounces !== undefined) {
    const { domain, port: at } = options.bounces;
    const lines = [`gone@${options.domain} ${REFUSER}:`, `${domain} smtp:[127.0.0.1]:${at}`];
    writeFileSync(join(config, 'transport'), `${lines.join('\n')}\n`);
  }
  const refuser = join(config, 'refuse');
  // EX_NOUSER. Read by a shell, as a file system of temporary files may refuse to execute.
  writeFileSync(refuser, 'cat > /dev/null\necho mailbox gone\nexit 67\n', { mode: 0o644 });
  writeFileSync(join(config, 'master.cf'), masterConfig(port, refuser));
  const access = [`nobody@${options.domain} 550 5.1.1 no such mailbox`, ...(options.recipients ?? [])];
  writeFileSync(join(config, 'recipients'), access.map((line) => `${line}\n`).join(''));
  const child = spawn('/usr/sbin/postfix', ['-c', config, 'start-fg'], { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (part: string) => {
      output += part;
    });
  }
  let running = true;
  const exited = new Promise<void>((resolve) => {
    child.once('close', () => {
      running = false;
      resolve();
    });
  });
  const stop = async (): Promise<void> => {
    if (running) {
      execFileSync('/usr/sbin/postfix', ['-c', config, 'stop'], { stdio: 'ignore' });
      await exited;
    }
    await greylist?.close();
    rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
  };
  const log = () =>
    output + (existsSync(join(dir, 'mail.log')) ? readFileSync(join(dir, 'mail.log'), 'utf8') : '');
  const deadline = performance.now() + 20_000;
  while (!(await answers(port))) {
    if (running && performance.now() < deadline) continue;
    const said = log();
    await stop();
    throw new Error(`postfix did not start: ${said}`);
  }
  return {
    port,
    mail() {
      const folder = join(boxes, 'inbox', 'new');
      if (!existsSync(folder)) return [];
      return readdirSync(folder)
        .sort()
        .map((name) =>
          Buffer.from(readFileSync(join(folder, name), 'latin1').replace(/\r?\n/g, '\r\n'), 'latin1'),
        );
    },
    log,
    stop,
  };
}

/** A delivery program that knows no user: mail is taken first and refused afterwards. */
const REFUSER = 'refuser';

/** A policy service (SMTPD_POLICY_README): each sender, recipient and client is put off until `waitMs` after its first try. */
async function startGreylist(waitMs: number): Promise<{ port: number; close(): Promise<void> }> {
  const firstAt = new Map<string, number>();
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => sockets.delete(socket));
    let input = '';
    socket.setEncoding('utf8').on('data', (text: string) => {
      input += text;
      for (let end = input.indexOf('\n\n'); end !== -1; end = input.indexOf('\n\n')) {
        const asked = new Map(
          input
            .slice(0, end)
            .split('\n')
            .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
        );
        input = input.slice(end + 2);
        const key = ['client_address', 'sender', 'recipient'].map((name) => asked.get(name)).join(' ');
        const at = firstAt.get(key) ?? performance.now();
        firstAt.set(key, at);
        const isKnown = performance.now() - at >= waitMs;
        socket.write(
          isKnown ? 'action=dunno\n\n' : 'action=defer_if_permit 4.2.0 Greylisted, try again later\n\n',
        );
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** The distribution's own, with the listener on our port and nothing in a chroot (our queue has no copy of /etc). */
function masterConfig(port: number, refuser: string): string {
  const lines = readFileSync(MASTER, 'utf8')
    .split('\n')
    .filter((line) => !/^\s*#/.test(line) && line.trim() !== '');
  return [...lines, `${REFUSER} unix - n n - - pipe user=nobody argv=/bin/sh ${refuser}`]
    .map((line) => {
      if (/^\s/.test(line)) return `${line}\n`;
      const fields = line.trim().split(/\s+/);
      if (fields[0] === 'smtp' && fields[1] === 'inet') fields[0] = `127.0.0.1:${port}`;
      if (fields[7] !== undefined) fields[4] = 'n';
      return `${fields.join(' ')}\n`;
    })
    .join('');
}

/** A port that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const end = (ok: boolean) => {
      socket.destroy();
      setTimeout(resolve, ok ? 0 : 50, ok);
    };
    socket.once('data', () => end(true)).once('error', () => end(false));
  });
}
