/**
 * What an operator reads at two in the morning: every failure of failure-table.ts made at one server, and looked at as a
 * stranger would, by command, API and log.
 */
import { writeFile } from 'node:fs/promises';
import { createServer as createHttps } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { beforeAll, describe, expect, it } from 'vitest';
import { messageText } from '../../src/cli/message-text.ts';
import { createFakeDns, type FakeDns } from '../fakes/fake-dns.ts';
import { type Script, startScriptedMx } from '../fakes/scripted-mx.ts';
import { createTestCa } from '../fakes/test-certificates.ts';
import { command } from './commands.ts';
import { FAILURES, type FailureRow } from './failure-table.ts';
import {
  addDomain,
  fileScope,
  type Instance,
  type LogLine,
  startInstance,
  temporaryFolder,
  until,
} from './harness.ts';

const NET = '127.57.0';
const scope = fileScope();
const ca = createTestCa();
const nobodys = createTestCa('Nobody trusts this one').issue({ names: ['mx.example'] });
const good = ca.issue({ names: ['*.test', ...FAILURES.map((row) => `mx.${nameOf(row)}`)] });
const certificates: Record<string, typeof good> = {
  'expired.test': ca.issue({ names: ['mx.expired.test'], notAfter: new Date('2021-01-01T00:00:00Z') }),
  'othername.test': ca.issue({ names: ['www.othername.test'] }),
};
const web = ca.issue({ names: FAILURES.map((row) => `mta-sts.${nameOf(row)}`) });

/** Where a row's mail goes, and what became of it. */
interface Made {
  row: FailureRow;
  domain: string;
  host: string;
  ip: string;
  id: string;
  /** As `postrider message` shows it. */
  text: string;
}

let dns: FakeDns;
let server: Instance;
let port = 0;
const tokens = new Map<string, string>();
const made = new Map<string, Made>();

function nameOf({ what }: FailureRow): string {
  return `${what.split(':', 1)[0]}.test`;
}

/** The scripts of the table say what is wrong; certificates and what else is the same for many come from here. */
function scriptOf(row: FailureRow, script: Script): Script {
  if (script.capabilities?.includes('STARTTLS') !== true || script.starttls !== undefined) return script;
  if (row.what.startsWith('injecting'))
    return { ...script, starttls: { do: 'tls-inject', bytes: '250 x\r\n', pair: good } };
  const pair = certificates[nameOf(row)] ?? (script.ehlo === undefined ? nobodys : good);
  return { ...script, starttls: { do: 'tls', pair } };
}

async function farEnd(row: FailureRow, ip: string): Promise<void> {
  if (row.far === undefined || row.far === 'none') return;
  const scripts = [row.far].flat().map((script) => scriptOf(row, script as Script));
  const mx = await startScriptedMx(scripts, { host: ip, port });
  port = mx.port;
  scope.defer(() => mx.close());
}

function publish(row: FailureRow, { domain, host, ip }: Pick<Made, 'domain' | 'host' | 'ip'>): void {
  const secure = row.dns?.['@']?.secure === true ? { secure: true } : {};
  if (row.far !== undefined && row.relay === undefined) {
    dns.set(domain, { MX: [host], ...secure });
    dns.set(host, { A: [ip], ...secure });
  }
  for (const [name, records] of Object.entries(row.dns ?? {})) {
    if (name !== '@' || row.far === undefined) dns.set(name.replace('@', domain), records);
  }
  for (const [name, fault] of Object.entries(row.faults ?? {})) dns.fault(name.replace('@', domain), fault);
  if (row.policy !== undefined) {
    dns.set(`_mta-sts.${domain}`, { TXT: ['v=STSv1; id=1'] });
    dns.set(`mta-sts.${domain}`, { A: ['127.0.0.1'] });
  }
  const tlsa = `_${port}._tcp.${host}`;
  if (row.what.startsWith('mismatch')) dns.set(tlsa, { TLSA: [[3, 1, 1, '00'.repeat(32)]], secure: true });
  if (row.what.startsWith('tlsafail')) dns.fault(`TLSA ${tlsa}`, { kind: 'servfail' });
}

const filled = (text: string, { ip, host }: Pick<Made, 'ip' | 'host'>) =>
  text.replaceAll('{ip}', ip).replaceAll('{port}', String(port)).replaceAll('{host}', host);

async function send(row: FailureRow, domain: string): Promise<string> {
  const { local = 'a', ...mail } = row.mail ?? {};
  const from = row.from ?? 'example.com';
  const tags = row.relay === undefined ? [] : [domain.replace('.test', '')];
  return server.send(
    { From: { email: `s@${from}` }, To: [{ email: `${local}@${domain}` }], Tags: tags, ...mail },
    { token: tokens.get(from) ?? '' },
  );
}

const kindsOf = async (id: string): Promise<string[]> =>
  (await server.call('GET', `/email/${id}/events`)).json.Items.map(({ Event }: { Event: string }) => Event);

async function shown(id: string): Promise<string> {
  const [message, events] = await Promise.all([
    server.call('GET', `/email/${id}`),
    server.call('GET', `/email/${id}/events`),
  ]);
  return messageText(new PassThrough() as never, message.json, events.json.Items, 0);
}

async function make(row: FailureRow, where: Pick<Made, 'domain' | 'host' | 'ip'>): Promise<Made> {
  const id = await send(row, where.domain);
  // The domain is removed behind the first attempt.
  const status = row.from === 'gone.example' ? 'deferred' : row.comes;
  // What comes to another end fails in its own test, with what is said of it.
  await until(row.what, async () => (await kindsOf(id)).includes(status), 20_000).catch(() => {});
  return { row, ...where, id, text: '' };
}

beforeAll(async () => {
  dns = await createFakeDns();
  scope.defer(() => dns.close());
  const places = FAILURES.map((row, n) => ({
    domain: nameOf(row),
    host: `mx.${nameOf(row)}`,
    ip: `${NET}.${n + 1}`,
  }));
  for (const [n, row] of FAILURES.entries()) await farEnd(row, places[n]?.ip ?? '');
  for (const [n, row] of FAILURES.entries()) publish(row, places[n] as Made);
  const policies = createHttps(web, (request, response) => {
    const domain = request.headers.host?.split(':')[0]?.replace('mta-sts.', '') ?? '';
    const mx = FAILURES.find((row) => nameOf(row) === domain)?.policy ?? '';
    response
      .writeHead(200, { 'content-type': 'text/plain' })
      .end(`version: STSv1\nmode: enforce\nmx: ${mx}\nmax_age: 86400\n`);
  });
  await new Promise<void>((resolve) => policies.listen(0, '127.0.0.1', resolve));
  scope.defer(() => new Promise((resolve) => policies.close(resolve)));
  const folder = await temporaryFolder(scope);
  const routes = FAILURES.flatMap((row, n) =>
    row.relay === undefined
      ? []
      : [{ tag: places[n]?.domain.replace('.test', ''), route: filled(row.relay, places[n] as Made) }],
  );
  await writeFile(join(folder, 'postrider.json'), JSON.stringify({ routes }));
  server = await startInstance(scope, {
    folder,
    settings: {
      ...{ route: 'mx', dns: dns.text, 'mx-port': String(port), retry: '1h' },
      'allow-networks': '127.0.0.0/8',
    },
    trust: { ca: [ca.cert], mtaStsPort: (policies.address() as AddressInfo).port },
  });
  for (const name of ['example.com', 'strict.example', 'gone.example', 'once.example']) {
    tokens.set(name, await addDomain(server, name));
  }
  await server.call('PATCH', '/domains/strict.example', { body: { RequireTls: true } });
  await server.call('PATCH', '/domains/once.example', { body: { AtMostOnce: true } });
  const all = await Promise.all(FAILURES.map((row, n) => make(row, places[n] as Made)));
  for (const one of all) made.set(one.row.what, one);
  for (const one of made.values()) {
    if (one.row.from !== 'gone.example') continue;
    await server.call('DELETE', '/domains/gone.example');
    await server.call('POST', `/email/${one.id}/retry`);
    await until('it is held', async () => (await server.statusOf(one.id)) === 'Held');
  }
  for (const one of made.values()) one.text = await shown(one.id);
}, 170_000);

const of = (row: FailureRow): Made => {
  const found = made.get(row.what);
  if (found === undefined) throw new Error(`"${row.what}" was not made`);
  return found;
};

function saying(text: string, part: string | RegExp, where: Made): void {
  if (typeof part === 'string') expect(text).toContain(filled(part, where));
  else expect(text).toMatch(part);
}

describe.each(FAILURES)('$what', (row) => {
  it('is told in words that say what, whose fault and what to do', async () => {
    const found = of(row);
    expect(await kindsOf(found.id), found.text).toContain(row.comes);
    for (const part of row.says) saying(found.text, part, found);
    if (row.class === undefined) return;
    const { Items } = (await server.call('GET', `/email/${found.id}/events`)).json;
    const told = Items.find(({ Event }: { Event: string }) => Event === row.comes);
    expect(told.Bounce.Class).toBe(row.class);
    expect(told.Explanation.length).toBeGreaterThan(40);
  });
});

const closing = FAILURES.filter((row) => row.path !== undefined);

describe.each(closing)('$what', (row) => {
  it('is what its path says, to the queue and to whoever asks for paths', async () => {
    const found = of(row);
    const { Queues } = (await server.call('GET', '/queue')).json;
    const reasons = Queues.filter(({ Site }: { Site: string }) => Site.includes(found.domain)).flatMap(
      (queue: { Reasons: { Reason: string }[] }) => queue.Reasons,
    );
    saying(reasons.map(({ Reason }: { Reason: string }) => Reason).join('\n'), row.path ?? '', found);
    const { Items } = (await server.call('GET', '/queue/paths?Limit=100')).json;
    saying(JSON.stringify(Items), row.path ?? '', found);
  });

  it('is what new mail behind it waits for', async () => {
    const found = of(row);
    const id = await send(row, found.domain);
    const waiting = await until('it waits behind the path', async () => {
      const [recipient] = (await server.call('GET', `/email/${id}`)).json.Recipients;
      return recipient.WaitReason.startsWith('path:') ? recipient : null;
    });
    saying(waiting.WaitReason, row.path ?? '', found);
    expect(Date.parse(waiting.NextAttemptAt)).toBeGreaterThan(Date.now());
  });
});

describe('who looks from further away', () => {
  it('reads each of them in the mail log, with its category', () => {
    const snake = (name: string) => name.replace(/(?<!^)[A-Z0-9]/g, (letter) => `_${letter}`).toLowerCase();
    const logged = server
      .logText()
      .split('\n')
      .flatMap((line) => (line === '' ? [] : [JSON.parse(line) as LogLine]));
    for (const { row, id } of made.values()) {
      const lines = logged.filter((line) => line.stream === 'mail' && line.messageId === id);
      const told = lines.find(({ msg }) => msg === row.comes);
      expect(told, row.what).toBeDefined();
      if (row.class === undefined) continue;
      expect([told?.category, String(told?.detail).length > 5], row.what).toEqual([
        snake(row.class).replace('smtputf_8', 'smtputf8').replace('ipv_6', 'ipv6'),
        true,
      ]);
    }
  });

  it('reads causes that say what to do, each once', async () => {
    const { Items } = (await server.call('GET', '/causes?Limit=100')).json;
    for (const { row } of made.values()) {
      if (row.class === undefined || row.comes === 'failed') continue;
      const cause = Items.find(({ Category }: { Category: string }) => Category === row.class);
      const isOne = [
        'RecipientInvalid',
        'MailboxFull',
        'MailboxInactive',
        'Greylisted',
        'RecipientRateLimited',
      ];
      if (cause === undefined) expect(isOne).toContain(row.class);
      else expect(cause.Explanation.length, row.what).toBeGreaterThan(40);
    }
  });

  it('reads the same from the commands', async () => {
    const data = ['--data', server.folder];
    const { id } = of(FAILURES.find(({ what }) => what.startsWith('misspelt')) as FailureRow);
    const [message, queue, causes] = await Promise.all(
      [['message', id], ['queue'], ['causes']].map((args) => command([...args, ...data])),
    );
    expect(message?.stdout).toContain(
      'the relay relay.misspelt.test cannot be found: the name does not exist in DNS',
    );
    expect(queue?.stdout).toContain('relay.misspelt.test');
    expect(causes?.stdout).toMatch(/RelayUnresolved +relay:relay\.misspelt\.test/);
    // As they are typed here, with the data folder.
    const gone = of(FAILURES.find(({ what }) => what.startsWith('removed')) as FailureRow);
    const held = await command(['message', gone.id, ...data]);
    const toType = `run: ./bin/postrider domain add gone.example --data ${server.folder}`;
    for (const text of [held.stdout, queue?.stdout]) expect(text).toContain(toType);
    for (const text of [held.stdout, message?.stdout, queue?.stdout, causes?.stdout])
      expect(text).not.toMatch(/(?:: |`)postrider [a-z]/);
  });

  it('is told of a copy that may have arrived twice', async () => {
    const found = of(FAILURES.find(({ what }) => what.startsWith('unsure')) as FailureRow);
    await server.call('POST', `/email/${found.id}/retry`);
    await server.settled(found.id);
    expect(await shown(found.id)).toContain('it may have arrived twice');
  });
});
