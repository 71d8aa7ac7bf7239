// Postfix as a competent administrator would set it up for bulk submission on one machine: an instance of its
// own (configuration, queue and data folder below `dir`), smtpd on a loopback port, everything relayed to the
// sink, concurrency raised, the in-flow brake off, DNS look-ups off, TLS off on loopback unless it is asked for (then
// implicit TLS for the injector, and sessions are resumed at the sink).
// Nothing that weakens durability: Postfix syncs every queue file. With DKIM through opendkim as a milter on a
// local socket. Needs root (Postfix gives its processes other users). The system's own instance is not touched.

import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../../test/fakes/own-postfix.ts';
import { SENDER_DOMAIN, siteAddress, siteDomain } from '../messages.ts';
import {
  type OwnProcess,
  programPath,
  startProcess,
  stopProcess,
  waitForFile,
  waitForPort,
} from '../processes.ts';
import type { Peer, PeerSetting, RunningPeer } from '../types.ts';
import { type Grouping, nameOf, run, SELECTOR, signingKeyPem } from './settings.ts';

/** Postfix with, where asked, opendkim. */
export function postfix(grouping?: Grouping): Peer {
  return {
    name: nameOf('Postfix', grouping),
    compiles: false,
    async missing() {
      if (programPath('postfix') === undefined)
        return 'postfix is not installed (Debian: apt-get install postfix)';
      if (programPath('opendkim') === undefined)
        return 'opendkim is not installed (Debian: apt-get install opendkim)';
      if (process.getuid?.() !== 0) return 'Postfix starts its processes under other users and so needs root';
      return undefined;
    },
    version: async () => (await run(need('postconf'), ['-dh', 'mail_version'])).trim(),
    start: (setting) => start(setting, grouping),
  };
}

async function start(setting: PeerSetting, grouping: Grouping): Promise<RunningPeer> {
  const { dir } = setting;
  const config = join(dir, 'config');
  for (const folder of [config, join(dir, 'queue'), join(dir, 'data'), join(dir, 'milter')])
    mkdirSync(folder);
  const port = await freePort();
  const started: OwnProcess[] = [];
  const stop = async (): Promise<void> => {
    for (const one of started.toReversed()) await stopProcess(one);
  };
  try {
    if (setting.dkim) started.push(await startOpendkim(dir));
    writeFileSync(join(config, 'main.cf'), mainConfig(setting, port, grouping));
    writeFileSync(join(config, 'master.cf'), masterConfig(setting, port));
    await run('chown', ['postfix', join(dir, 'data')]);
    const env = setting.preload === undefined ? {} : { LD_PRELOAD: setting.preload };
    const command = commandOf(setting, config);
    const master = await startProcess(command[0] ?? '', command.slice(1), {
      logFile: join(dir, 'postfix.log'),
      env,
    });
    started.push(master);
    await waitForPort(port, master, 20_000);
  } catch (cause) {
    await stop();
    throw cause;
  }
  const secure = setting.certificate !== undefined;
  return {
    doors: [{ kind: 'smtp', port, pipelining: true, secure }],
    roots: started.map((one) => one.pid),
    stop,
  };
}

/** To many sites, with a file of their names for itself: look-ups in a file cost it less than DNS would. */
function commandOf({ dir, sites }: PeerSetting, config: string): string[] {
  const start = [need('postfix'), '-c', config, 'start-fg'];
  if (sites === 0) return start;
  const hosts = join(dir, 'hosts');
  writeFileSync(
    hosts,
    Array.from({ length: sites }, (_, site) => `${siteAddress(site)} ${siteDomain(site)}\n`).join(''),
  );
  return ['unshare', '--mount', 'sh', '-c', 'mount --bind "$0" /etc/hosts && exec "$@"', hosts, ...start];
}

function mainConfig(setting: PeerSetting, port: number, grouping: Grouping): string {
  const { dir, sinkPort, sites, connections, certificate } = setting;
  const keeps = setting.delayMs > 0 || certificate !== undefined;
  const settings: Record<string, string> = {
    compatibility_level: '3.6',
    queue_directory: join(dir, 'queue'),
    data_directory: join(dir, 'data'),
    multi_instance_name: `postfix-bench-${port}`,
    mail_owner: 'postfix',
    setgid_group: 'postdrop',
    myhostname: 'postfix.bench.example.com',
    mydestination: '',
    local_recipient_maps: '',
    alias_maps: '',
    mynetworks: '127.0.0.0/8',
    inet_interfaces: '127.0.0.1',
    inet_protocols: 'ipv4',
    ...(sites > 0 ? { smtp_tcp_port: String(sinkPort) } : { relayhost: `[127.0.0.1]:${sinkPort}` }),
    disable_dns_lookups: 'yes',
    smtpd_peername_lookup: 'no',
    smtpd_relay_restrictions: 'permit_mynetworks, reject',
    smtpd_recipient_restrictions: 'permit_mynetworks, reject',
    ...(certificate === undefined
      ? { smtpd_tls_security_level: 'none', smtp_tls_security_level: 'none' }
      : {
          smtpd_tls_wrappermode: 'yes',
          smtpd_tls_security_level: 'encrypt',
          smtpd_tls_chain_files: `${certificate.keyFile} ${certificate.certFile}`,
          smtp_tls_security_level: 'encrypt',
          smtp_tls_session_cache_database: `btree:${join(dir, 'data', 'sessions')}`,
          smtp_tls_connection_reuse: 'yes',
        }),
    // What VERP needs, where every recipient has a return path of its own. Each is a destination then, which never
    // has the queue that keeping connections on demand waits for.
    ...(grouping === 'alone'
      ? {
          smtp_destination_recipient_limit: '1',
          ...(keeps ? { smtp_connection_cache_destinations: 'static:all' } : {}),
        }
      : {}),
    smtpd_client_connection_count_limit: '0',
    // Throughput: as many processes as there are connections, and no brake between intake and delivery.
    default_process_limit: String(Math.max(200, connections * 3)),
    in_flow_delay: '0',
    initial_destination_concurrency: '20',
    default_destination_concurrency_limit: String(Math.max(50, connections)),
    // Measured interleaved: kept connections go through one more process and cost a fifth more CPU; on loopback,
    // where connecting is free, Postfix is faster without. With a far end away they save round trips, and with TLS
    // handshakes, which were a third of its CPU.
    smtp_connection_cache_on_demand: keeps ? 'yes' : 'no',
    // Without this Postfix logs to syslog; where none listens that costs nothing, which favours Postfix.
    ...(setting.logs ? { maillog_file: join(dir, 'mail.log'), maillog_file_prefixes: dir } : {}),
    ...(setting.dkim
      ? {
          smtpd_milters: `unix:${join(dir, 'milter', 'socket')}`,
          milter_default_action: 'tempfail',
          milter_protocol: '6',
        }
      : {}),
    // Postfix empties its environment: name what must get through.
    ...(setting.preload === undefined
      ? {}
      : { import_environment: 'MAIL_CONFIG MAIL_DEBUG MAIL_LOGTAG TZ LANG=C POSTLOG_SERVICE LD_PRELOAD' }),
  };
  return Object.entries(settings)
    .map(([key, value]) => `${key} = ${value}\n`)
    .join('');
}

/** The distribution's own master.cf, with its listener on our port, tlsproxy (for kept connections) and no chroot (our queue folder has no copy of /etc). */
function masterConfig(setting: PeerSetting, port: number): string {
  const lines = readFileSync('/usr/share/postfix/master.cf.dist', 'utf8').split('\n');
  const kept = lines
    .map((line) => line.replace(/^#(?=tlsproxy\s)/, ''))
    .filter((line) => !/^\s*#/.test(line) && line.trim() !== '');
  return kept
    .map((line) => {
      if (/^\s/.test(line)) return `${line}\n`;
      const fields = line.trim().split(/\s+/);
      if (fields[0] === 'smtp' && fields[1] === 'inet') {
        fields[0] = `127.0.0.1:${port}`;
        fields[6] = String(setting.connections + 20);
      }
      if (fields[7] !== undefined) fields[4] = 'n';
      return `${fields.join(' ')}\n`;
    })
    .join('');
}

async function startOpendkim(dir: string): Promise<OwnProcess> {
  const folder = join(dir, 'milter');
  const keyFile = join(folder, 'key.pem');
  const socket = join(folder, 'socket');
  writeFileSync(keyFile, signingKeyPem(), { mode: 0o600 });
  const settings: Record<string, string> = {
    Mode: 's',
    Socket: `local:${socket}`,
    UMask: '000',
    Domain: SENDER_DOMAIN,
    Selector: SELECTOR,
    KeyFile: keyFile,
    Canonicalization: 'relaxed/relaxed',
    SignatureAlgorithm: 'rsa-sha256',
    OversignHeaders: 'From',
    InternalHosts: '127.0.0.0/8',
    RequireSafeKeys: 'no', // /var/tmp, above our folder, may be written by all
    Syslog: 'no',
    AutoRestart: 'no',
  };
  const file = join(folder, 'opendkim.conf');
  writeFileSync(
    file,
    Object.entries(settings)
      .map(([key, value]) => `${key} ${value}\n`)
      .join(''),
  );
  chmodSync(folder, 0o755);
  const own = await startProcess(need('opendkim'), ['-f', '-x', file], {
    logFile: join(dir, 'opendkim.log'),
  });
  await waitForFile(socket, own, 10_000);
  return own;
}

function need(name: string): string {
  const path = programPath(name);
  if (path === undefined) throw new Error(`${name} is not installed`);
  return path;
}
