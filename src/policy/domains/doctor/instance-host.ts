/**
 * The doctor's checks of the machine and its operator: name, links, clock, disk, data folder, the operator's address,
 * and what a person must do by hand.
 */
import { type DomainCheck, openCheck, showable } from './check.ts';
import type { InstanceFacts, InstanceProbes } from './instance-facts.ts';

const OFFSET_FAIL_MS = 300_000;
const OFFSET_WARN_MS = 10_000;
/** With these shares of the transaction numbers used, autovacuum should have freed them long ago. */
const MANY_NUMBERS = 0.4;
const MOST_NUMBERS = 0.75;
const MANY_OLD_ROWS = 1_000_000;
const GIB = 2 ** 30;
/** Several times what a server with usual settings keeps without a slot. */
const MUCH_LOG = 10 * GIB;
const EVENTS_HELD_MS = 60_000;
const LEAST_FREE_SHARE = 0.05;
const LOW_FREE_SHARE = 0.15;

/** Whether the server has a name that others can look up. */
export function checkName({ hostname, direct, addresses }: InstanceFacts): DomainCheck {
  const found = addresses.map(({ address }) => address);
  const check = openCheck('name', 'HOST', hostname, { found });
  if (!hostname.includes('.') || /\.(?:local|localdomain|internal|lan|home)$/i.test(hostname)) {
    check[direct ? 'fail' : 'warn'](
      `This server calls itself "${showable(hostname)}", which is not a name that others can look up.`,
      'Set the key hostname to its full public name, for example mail.example.com.',
    );
  }
  if (direct && addresses.length === 0) {
    check.warn(
      'No public address of this machine is known, so its name and SPF could not be checked.',
      `Publish an A record for ${showable(hostname)} with the address that mail leaves from.`,
    );
  }
  return check.done(`This server is called ${hostname}.`);
}

/** Addresses of sources that no mail can leave from. Null: this machine has each, and those of IPv6 are used. */
export function checkSources(
  probes: InstanceProbes,
  { unusedIpv6 }: Pick<InstanceFacts, 'unusedIpv6'>,
): DomainCheck | null {
  const missing = probes.missingSources();
  if (missing.length === 0 && unusedIpv6 === null) return null;
  const check = openCheck('sources', 'HOST', 'sources');
  for (const { id, address } of missing) {
    check.fail(
      `This machine does not have the address ${address} of the source "${id}": nothing is sent from this address.`,
      'Give a network interface this address, or correct the key sources.',
    );
  }
  if (unusedIpv6 === 'off') {
    check.warn(
      "A source has an IPv6 address, and the key ipv6 is off: no mail to recipients' own hosts leaves from that.",
      'Set the key ipv6 to on, or remove "ipv6" from the source.',
    );
  } else if (unusedIpv6 === 'no-address') {
    check.warn(
      'The key ipv6 is on, and no source has an IPv6 address: no mail leaves over IPv6.',
      'Give a source an IPv6 address ("ipv6" in sources), or set the key ipv6 to off.',
    );
  }
  return check.done();
}

/** Whether readers can use the links in mail, and their programs the one for unsubscribing (RFC 8058 §3.1). */
export function checkLinks({ links }: InstanceFacts): DomainCheck | null {
  if (links === null) return null;
  const url = showable(links.url);
  const check = openCheck('links', 'HOST', 'links', { found: [url] });
  if (links.reach !== 'one-click') {
    check.warn(
      links.reach === 'none'
        ? `Links in mail would begin with ${url}, which only this machine can open. So mail leaves without links to unsubscribe and without tracking, except from domains with a TrackingHost.`
        : `Links in mail begin with ${url}, not with https://. So mail programs get no one-click unsubscribe, which large receivers require of bulk mail, except from domains with a TrackingHost.`,
      'Set the key public-url to an https:// address of this server that readers can reach, for example https://mail.example.com.',
    );
  }
  return check.done(`Links in mail begin with ${url}.`);
}

/** Compared with the clock that the operator configured, if any. */
export async function checkClock(probes: InstanceProbes): Promise<DomainCheck> {
  const offset = await probes.clockOffsetMs();
  const check = openCheck('clock', 'HOST', 'clock');
  if (offset === null) {
    check.unknown(
      'Whether the clock is right is not known.',
      'Name a web server of yours whose clock is right in the key doctor-clock.',
    );
    return check.done();
  }
  const off = Math.abs(offset);
  const seconds = Math.round(off / 1000);
  if (off >= OFFSET_WARN_MS) {
    check[off >= OFFSET_FAIL_MS ? 'fail' : 'warn'](
      `The clock is ${seconds} s ${offset > 0 ? 'ahead' : 'behind'}: dates, tokens and signatures are wrong by that.`,
      'Let the system set its clock (NTP).',
    );
  }
  return check.done(`The clock is right to ${seconds} s.`);
}

/** Whether the database server removes old versions of rows. */
export async function checkDatabase(probes: InstanceProbes): Promise<DomainCheck | null> {
  const upkeep = await probes.databaseUpkeep({ heldMs: EVENTS_HELD_MS });
  if (upkeep === null) return null;
  const { automatic, oldRows, rows, keptBy, eventsHeldBy, numbersUsed, logKeptBy, logKeptBytes } = upkeep;
  const check = openCheck('database', 'HOST', 'database');
  if (numbersUsed >= MANY_NUMBERS) {
    check[numbersUsed >= MOST_NUMBERS ? 'fail' : 'warn'](
      `The server of the database has used ${Math.round(numbersUsed * 100)} % of its transaction numbers. It refuses all writes, and so all mail, when they are used up.`,
      'See why autovacuum does not free them (an old transaction, a prepared transaction, a replication slot, a database that nobody uses), and run vacuumdb --all --freeze.',
    );
  }
  if (logKeptBy !== null && logKeptBytes >= MUCH_LOG) {
    check.warn(
      `The server of the database keeps ${Math.round(logKeptBytes / GIB)} GiB of its log for the replication slot ${showable(logKeptBy)}, and more until its disk is full. Then it stops, and no mail is accepted.`,
      'See why its standby or reader does not fetch the log; if nobody uses the slot any more: SELECT pg_drop_replication_slot(NAME). max_slot_wal_keep_size limits what is kept.',
    );
  }
  if (eventsHeldBy !== null) {
    check.warn(
      `A transaction in this database has written and not ended for over a minute: ${showable(eventsHeldBy)}. Until it ends, no new events are told: webhooks, streams and GET /events?After wait.`,
      'End it: SELECT pg_terminate_backend(PID), or ROLLBACK PREPARED for a prepared transaction.',
    );
  }
  if (!automatic) {
    check.warn(
      'Autovacuum of PostgreSQL is off: the tables grow, and the queue becomes slow.',
      'Set autovacuum = on in postgresql.conf, and reload the server.',
    );
  } else if (oldRows >= MANY_OLD_ROWS) {
    check.warn(
      `The database keeps ${oldRows} old versions of ${rows} rows: its tables grow, and the queue becomes slow.${keptBy === null ? '' : ` The oldest reader is ${showable(keptBy)}.`}`,
      'End what keeps them: a transaction that was forgotten, a replication slot that nobody uses, a copy that takes too long. Then autovacuum removes them.',
    );
  }
  return check.done('The database removes old versions of rows.');
}

/** Whether a person reads mail for postmaster and abuse (RFC 2142). */
export function checkOperator({ operatorAddress, bounceDomain, returns }: InstanceFacts): DomainCheck {
  const found = operatorAddress === null ? [] : [operatorAddress];
  const check = openCheck('operator', 'HOST', `postmaster@${bounceDomain}`, { found });
  if (operatorAddress === null) {
    check.warn(
      `Mail for postmaster@${bounceDomain} and abuse@${bounceDomain}, which every mail domain must have (RFC 2142), is not forwarded to anybody.`,
      'Set the key operator-address to the address of a person.',
    );
  }
  return check.done(
    returns === 'off'
      ? `Mail for postmaster and abuse goes to ${operatorAddress} once the key returns is set.`
      : `Mail for postmaster and abuse goes to ${operatorAddress}.`,
  );
}

/** Free space on the disk of the data folder: below 5 % no mail is accepted. */
export async function checkDisk(
  probes: InstanceProbes,
  { dataFolder }: Pick<InstanceFacts, 'dataFolder'>,
): Promise<DomainCheck> {
  const free = await probes.freeSpace();
  const check = openCheck('disk', 'HOST', dataFolder);
  if (free === null) {
    check.unknown('How much of the disk is free could not be found out.', '');
    return check.done();
  }
  const share = `${(free.share * 100).toFixed(0)} % (${(free.bytes / 2 ** 30).toFixed(1)} GiB)`;
  const room = 'Make room, or shorten retain-content and retain-events.';
  if (free.share < LEAST_FREE_SHARE)
    check.fail(`Only ${share} of the disk is free: no mail is accepted.`, room);
  else if (free.share < LOW_FREE_SHARE)
    check.warn(`Only ${share} of the disk is free; below 5 % no mail is accepted.`, room);
  const files = 'Remove files that nobody needs (df -i).';
  if (free.fileShare === 0) {
    check.fail(
      'No further file can be made on the disk, because its inodes are used up: bounces and complaints are refused, and after a stop the server cannot start.',
      files,
    );
  } else if (free.fileShare < LEAST_FREE_SHARE) {
    check.warn(
      `Only ${(free.fileShare * 100).toFixed(0)} % of the inodes of the disk are free; without them the server cannot start.`,
      files,
    );
  }
  return check.done(`${share} of the disk is free.`);
}

/** Whether only the owner can read the keys and tokens of the data folder. */
export async function checkFolder(
  probes: InstanceProbes,
  { dataFolder }: InstanceFacts,
): Promise<DomainCheck> {
  const open = await probes.readableByOthers();
  const check = openCheck('data', 'HOST', dataFolder, { found: open });
  if (open.length > 0) {
    check.fail(
      `Others on this machine can read ${showable(open.slice(0, 5).join(', '))}, which contains keys and tokens.`,
      `chmod -R go-rwx ${showable(dataFolder)}`,
    );
  }
  return check.done('Nobody else can read the data folder.');
}

/** Whether people can sign in by the identity provider; null where there is none. */
export async function checkIdentityProvider(
  probes: InstanceProbes,
  { identityIssuer }: InstanceFacts,
): Promise<DomainCheck | null> {
  if (identityIssuer === null) return null;
  const problem = await probes.identityProvider();
  const check = openCheck('sign-in', 'HOST', identityIssuer);
  if (problem !== null) {
    check.warn(
      `Nobody can sign in by the identity provider: ${showable(problem)}.`,
      'Correct the keys oidc-issuer, oidc-client-id and oidc-client-secret, or look at the provider. Passwords still work.',
    );
  }
  return check.done('The identity provider answers with its metadata and keys.');
}

/** Whether the nodes on one database work alike; null where there is one. */
export async function checkNodes(
  probes: InstanceProbes,
  { hostname }: InstanceFacts,
): Promise<DomainCheck | null> {
  const others = await probes.otherNodes();
  if (others === null || others.length === 0) return null;
  const named = others.map(({ name }) => showable(name));
  const check = openCheck('nodes', 'HOST', hostname, { found: named });
  for (const { name, otherVersion, differsIn } of others) {
    if (differsIn.length > 0) {
      check.warn(
        `The node ${showable(name)} has other values than this one of ${differsIn.map(showable).join(', ')}: mail is treated differently depending on the node.`,
        'Give all nodes the same values (postrider config on each shows them), and restart those that change.',
      );
    }
    if (otherVersion !== null) {
      check.warn(
        `The node ${showable(name)} runs version ${showable(otherVersion)}, another one than this node.`,
        'Finish the upgrade: all nodes should run one version (docs/howto/several-nodes.md).',
      );
    }
  }
  return check.done(`It works beside ${named.join(', ')}, with the same settings.`);
}

/** What no program can look up; null if mail leaves only by relays. */
export function feedbackLoops({ direct, bounceDomain, returns }: InstanceFacts): DomainCheck | null {
  if (!direct) return null;
  const counted = returns === 'off' ? 'once the key returns is set, complaints' : 'complaints';
  return openCheck('feedback', 'HOST', 'feedback loops').done(
    `Enrol once, by hand: Yahoo's Complaint Feedback Loop (by DKIM domain) and Microsoft's JMRP (by address), with fbl@${bounceDomain} as the address for reports: ${counted} are counted there. Microsoft's SNDS (by address) and Google Postmaster Tools (by domain) show figures of your mail.`,
  );
}
