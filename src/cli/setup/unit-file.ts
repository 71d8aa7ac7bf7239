/** The systemd unit that `setup` writes. Pure: facts in, text out. */

/** Keys whose values are files of certificates and their keys. */
export const CREDENTIAL_KEYS = ['tls-cert', 'tls-key', 'http-certificate', 'http-certificate-key'] as const;
type CredentialKey = (typeof CREDENTIAL_KEYS)[number];

export interface UnitFacts {
  /** Absolute paths of Node and the launcher. */
  program: readonly [string, string];
  data: string;
  /** The account that the server runs as. */
  user: string;
  /** A listener has a port below 1024. */
  lowPorts: boolean;
  /** Certificate files that this account may not read: systemd passes them to the server. */
  credentials: readonly { key: CredentialKey; file: string }[];
}

/** systemd inserts the value of the variable. `%d` would do the same, but needs systemd 251. */
const handed = (name: string) => `\${CREDENTIALS_DIRECTORY}/${name}`;

/** The first line of units that `setup` wrote, which it may replace. */
export const WRITTEN = '# Written by postrider setup';

/**
 * What a server of mail never does. Not here: no memory that is written and executed, because V8 compiles; a filter of system
 * calls, because Node's differ by version; no `/home`, because a clone may lie there.
 */
const CONFINED = [
  'NoNewPrivileges=yes',
  'PrivateTmp=yes',
  'PrivateDevices=yes',
  'ProtectSystem=strict',
  'ProtectHome=read-only',
  'ProtectClock=yes',
  'ProtectControlGroups=yes',
  'ProtectHostname=yes',
  'ProtectKernelLogs=yes',
  'ProtectKernelModules=yes',
  'ProtectKernelTunables=yes',
  'LockPersonality=yes',
  'RemoveIPC=yes',
  // Netlink tells the addresses of this machine.
  'RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK',
  'RestrictNamespaces=yes',
  'RestrictRealtime=yes',
  'RestrictSUIDSGID=yes',
  'SystemCallArchitectures=native',
] as const;

/** The whole file. */
export function unitText({ program, data, user, lowPorts, credentials }: UnitFacts): string {
  const command = [...program, 'serve', '--data', data].map(unitWord).join(' ');
  const lines = [
    `${WRITTEN}. Changes belong into a file of /etc/systemd/system/postrider.service.d/.`,
    '[Unit]',
    'Description=Postrider',
    // Ages and dates of mail are told by the clock.
    'After=network-online.target time-sync.target',
    'Wants=network-online.target',
    'StartLimitIntervalSec=0',
    '',
    '[Service]',
    'Type=exec',
    `User=${user}`,
    // A file of the Debian package; elsewhere it may be missing.
    'EnvironmentFile=-/etc/default/postrider',
    `ExecStart=${command}${credentials.map(({ key }) => ` --${key} ${handed(key)}`).join('')}`,
    // Otherwise the journal names Node.
    'SyslogIdentifier=postrider',
    // A busy server writes more than journald keeps of one service, errors among it; 0 would mean its usual limit.
    'LogRateLimitBurst=1000000',
    'ExecReload=/bin/kill -HUP $MAINPID',
    ...credentials.map(({ key, file }) => `LoadCredential=${key}:${unitPath(file)}`),
    ...(lowPorts ? ['AmbientCapabilities=CAP_NET_BIND_SERVICE'] : []),
    'Restart=on-failure',
    'RestartSec=5',
    'KillMode=mixed',
    'TimeoutStopSec=45',
    'LimitNOFILE=65536',
    'UMask=0077',
    ...CONFINED,
    // Root may read and bind everything by its capabilities, so it keeps them.
    ...(user === 'root' ? [] : [`CapabilityBoundingSet=${lowPorts ? 'CAP_NET_BIND_SERVICE' : ''}`]),
    `ReadWritePaths=${unitWord(data)}`,
    '',
    '[Install]',
    'WantedBy=multi-user.target',
  ];
  return `${lines.join('\n')}\n`;
}

/** `text` as one word of a unit file (systemd.syntax(7)), with `%`, `$`, quotes and spaces escaped. */
function unitWord(text: string): string {
  const escaped = unitPath(text).replace(/[\\"]/g, '\\$&').replaceAll('$', '$$$$');
  return /^[\w@%+=:,./-]+$/.test(escaped) ? escaped : `"${escaped}"`;
}

/** A path that is the rest of its line. */
function unitPath(text: string): string {
  return text.replaceAll('%', '%%');
}
