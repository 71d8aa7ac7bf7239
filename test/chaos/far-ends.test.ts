/**
 * The real server, sending direct to the recipients' servers over a DNS of its own, against far ends that fail in every
 * way. Each recipient ends in the right state with the right events, a doubtful one is sent once
 * more with its mark, and nobody waits for a neighbour that hangs.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createFakeDns, type FakeDns } from '../fakes/fake-dns.ts';
import { type Script, type ScriptedMx, startScriptedMx } from '../fakes/scripted-mx.ts';
import { createBenches } from './bench.ts';
import { post } from './load.ts';
import { type TimelineEntry, timeline } from './reckoning.ts';
import { addDomain, type ServerProcess, until } from './server-process.ts';

const benches = createBenches();
const FINAL = /^(delivered|bounced|failed)$/;
/** Stands in for a private network: loopback, but not among the allowed networks. */
const PRIVATE = '127.200.0.1';

let dns: FakeDns;
let server: ServerProcess;
let port = 0;
let hosts = 0;
/** Messages to far ends that never come to an end. */
let hanging: string[] = [];
let release = () => {};
const released = new Promise<void>((resolve) => {
  release = resolve;
});

/** A far end on an address of its own, under one port with all others. */
async function farEnd(
  script: Script | readonly Script[],
  at?: string,
): Promise<ScriptedMx & { address: string }> {
  hosts += 1;
  const address = at ?? `127.1.0.${hosts}`;
  const mx = await startScriptedMx(script, { host: address, port });
  port = mx.port;
  benches.afterwards(() => mx.close());
  return { ...mx, address };
}

/** A domain with one MX host that follows the script. */
async function domain(name: string, script: Script | readonly Script[]): Promise<ScriptedMx> {
  const mx = await farEnd(script);
  dns.set(name, { MX: [`mx.${name}`] });
  dns.set(`mx.${name}`, { A: [mx.address] });
  return mx;
}

/** Sends to one recipient of each domain; gives the message id. */
async function send(key: string, ...recipients: string[]): Promise<string> {
  const answer = await post(server, { key, recipients });
  if (answer.messageId === null) throw new Error(`${key}: ${answer.status}`);
  return answer.messageId;
}

/** The timeline, once every recipient has its final state. */
async function finished(messageId: string, recipients = 1): Promise<readonly TimelineEntry[]> {
  let entries: readonly TimelineEntry[] = [];
  await until(`${messageId} is finished`, 20_000, async () => {
    entries = await timeline(server, messageId);
    return entries.filter((entry) => FINAL.test(entry.Event)).length >= recipients;
  });
  return entries;
}

/** What became of the recipients, without when the way there closed and opened. */
const kinds = (entries: readonly TimelineEntry[]) =>
  entries.map((entry) => entry.Event).filter((kind) => !kind.startsWith('path_'));
const messagesOf = (mx: ScriptedMx) => mx.connections.flatMap((one) => one.messages);
const messageIdOf = (message: Buffer | undefined) => /^Message-ID: (.*)\r$/m.exec(String(message))?.[1];

beforeAll(async () => {
  dns = await createFakeDns();
  benches.afterwards(() => dns.close());
  // Takes the port that all share.
  await domain('good.test', {});
  const bench = await benches.prepare();
  server = await bench.start({
    POSTRIDER_ROUTE: 'mx',
    POSTRIDER_DNS: dns.text,
    POSTRIDER_MX_PORT: String(port),
    POSTRIDER_ALLOW_NETWORKS: '127.0.0.0/10',
    // A SERVFAIL is remembered for some seconds; more failures in a row than these are not expected of anyone.
    POSTRIDER_RETRY: `${'500ms,'.repeat(12)}60s`,
  });
  await addDomain(server);
  // One that never greets and one that never stops are there all the time.
  await domain('tarpit.test', { banner: { do: 'wait', until: released, next: '220 late' } });
  await domain('babble.test', { banner: { do: 'babble', bytes: '220-hello\r\n' } });
  hanging = [await send('tarpit', 'a@tarpit.test'), await send('babble', 'a@babble.test')];
});

afterAll(async () => {
  release();
  await benches.clear();
});

describe('far ends that fail', () => {
  it('delivers at once to a good one while others hang and babble', async () => {
    const entries = await finished(await send('good', 'a@good.test'));
    expect(kinds(entries)).toEqual(['accepted', 'delivered']);
    expect(entries[1]).toMatchObject({
      PossibleDuplicate: false,
      Reply: '250 2.0.0 kept',
      RemoteMta: expect.stringContaining('mx.good.test'),
    });
    // How soon one that never stops has said too much depends on the machine.
    for (const id of hanging)
      expect(kinds(await timeline(server, id)).filter((kind) => FINAL.test(kind))).toEqual([]);
  });

  it('tries again where connections are refused, and delivers once the server is up', async () => {
    dns.set('down.test', { MX: ['mx.down.test'] });
    dns.set('mx.down.test', { A: ['127.1.1.1'] });
    const id = await send('down', 'a@down.test');
    await until('the first try failed', 10_000, async () =>
      kinds(await timeline(server, id)).includes('deferred'),
    );
    await farEnd({}, '127.1.1.1');
    const entries = await finished(id);
    expect(kinds(entries).at(-1)).toBe('delivered');
    expect(entries[1]).toMatchObject({ Event: 'deferred', Bounce: { Scope: 'path', Class: 'Unreachable' } });
  });

  it('takes 421 in the middle of a session as a failure of the path', async () => {
    await domain('busy.test', [{ mail: { do: 'last', reply: '421 4.3.2 closing' } }, {}]);
    const entries = await finished(await send('busy', 'a@busy.test'));
    expect(kinds(entries)).toEqual(['accepted', 'deferred', 'delivered']);
    expect(entries[1]?.Bounce).toMatchObject({
      Type: 'Transient',
      Scope: 'path',
      Class: 'ServiceUnavailable',
    });
  });

  it('sends again, without a mark, what broke off in DATA', async () => {
    const mx = await domain('drop.test', [
      { capabilities: ['PIPELINING'], inBody: { afterBytes: 1, action: { do: 'reset' } } },
      { capabilities: ['PIPELINING'] },
    ]);
    // Too much for the buffers of a connection: the final dot has not been written when it ends.
    const answer = await post(server, {
      key: 'drop',
      recipients: ['a@drop.test'],
      text: 'é'.repeat(2_000_000),
    });
    const entries = await finished(answer.messageId ?? '');
    expect(kinds(entries)).toEqual(['accepted', 'deferred', 'delivered']);
    expect(entries[2]).toMatchObject({ PossibleDuplicate: false });
    expect(mx.connections).toHaveLength(2);
  });

  it('sends once more, marked and with the same Message-ID, when the last reply is lost', async () => {
    const mx = await domain('lost.test', [{ dot: { do: 'reset' } }, {}]);
    const entries = await finished(await send('lost', 'a@lost.test'));
    expect(kinds(entries)).toEqual(['accepted', 'deferred', 'delivered']);
    expect(entries[1]?.Bounce?.Class).toBe('OutcomeUnknown');
    expect(entries[2]).toMatchObject({ PossibleDuplicate: true });
    const [first, second, ...more] = messagesOf(mx);
    expect(more).toEqual([]);
    expect(messageIdOf(first)).toBeDefined();
    expect(messageIdOf(second)).toBe(messageIdOf(first));
  });

  it('comes back after greylisting', async () => {
    await domain('grey.test', { rcpt: ['451 4.7.1 Greylisted, see you later', '250 2.1.5 ok'] });
    const entries = await finished(await send('grey', 'a@grey.test'));
    expect(kinds(entries)).toEqual(['accepted', 'deferred', 'delivered']);
    expect(entries[1]?.Bounce).toMatchObject({ Class: 'Greylisted', Scope: 'recipient', SmtpCode: 451 });
  });

  it('keeps the recipients of one message apart', async () => {
    await domain('bad.test', { rcpt: '550 5.1.1 no such user' });
    await domain('full.test', { rcpt: '552 5.2.2 mailbox full' });
    await domain('small.test', { dot: '552 5.3.4 too big' });
    const to = ['a@good.test', 'b@bad.test', 'c@full.test', 'd@small.test'];
    const id = await send('mixed', ...to);
    const entries = (await finished(id, 4)).filter((entry) => FINAL.test(entry.Event));
    const of = (address: string) => entries.filter((entry) => entry.Recipient === address);
    expect(of('a@good.test')).toMatchObject([{ Event: 'delivered' }]);
    expect(of('b@bad.test')).toMatchObject([
      { Event: 'bounced', Bounce: { Type: 'Permanent', Class: 'RecipientInvalid', Scope: 'recipient' } },
    ]);
    expect(of('c@full.test')).toMatchObject([
      { Event: 'bounced', Bounce: { Type: 'Transient', Class: 'MailboxFull', Scope: 'recipient' } },
    ]);
    expect(of('d@small.test')).toMatchObject([
      { Event: 'bounced', Bounce: { Type: 'Permanent', Class: 'MessageTooLarge', Scope: 'message' } },
    ]);
    const message = await server.api<{ Status: string }>(`/email/${id}`);
    expect(message.Status).toBe('PartiallyDelivered');
  });

  it('counts connections that end together as one failure', async () => {
    let allIn = () => {};
    const together = new Promise<void>((resolve) => {
      allIn = resolve;
    });
    const first: Script = {
      dot: { do: 'wait', until: together, next: { do: 'last', reply: '421 4.3.2 down' } },
    };
    const mx = await domain('storm.test', [first, first, {}]);
    const ids = await Promise.all(
      Array.from({ length: 40 }, (_, n) => send(`storm-${n}`, `r${n}@storm.test`)),
    );
    // A path that is not known yet begins with two connections.
    await until('two wait for their reply', 10_000, () => messagesOf(mx).length === 2);
    allIn();
    // Counted one by one, they would put the next try off for a minute.
    for (const id of ids) expect(kinds(await finished(id)).at(-1)).toBe('delivered');
  });
});

describe('ways through DNS', () => {
  it('goes by preference, passes over a host that is down, and tries every address', async () => {
    const spare = await farEnd({});
    const second = await farEnd({});
    dns.set('order.test', {
      MX: [
        [20, 'spare.order.test'],
        [10, 'down.order.test'],
      ],
    });
    dns.set('down.order.test', { A: ['127.1.2.1', second.address] });
    dns.set('spare.order.test', { A: [spare.address] });
    expect(kinds(await finished(await send('order', 'a@order.test')))).toEqual(['accepted', 'delivered']);
    expect(messagesOf(second)).toHaveLength(1);
    expect(spare.connections).toHaveLength(0);

    const last = await farEnd({});
    dns.set('fall.test', {
      MX: [
        [10, 'down.fall.test'],
        [20, 'spare.fall.test'],
      ],
    });
    dns.set('down.fall.test', { A: ['127.1.2.2'] });
    dns.set('spare.fall.test', { A: [last.address] });
    expect(kinds(await finished(await send('fall', 'a@fall.test')))).toEqual(['accepted', 'delivered']);
    expect(messagesOf(last)).toHaveLength(1);
  });

  it('takes the domain itself where it has no MX', async () => {
    const mx = await farEnd({});
    dns.set('implicit.test', { A: [mx.address] });
    expect(kinds(await finished(await send('implicit', 'a@implicit.test')))).toEqual([
      'accepted',
      'delivered',
    ]);
    expect(messagesOf(mx)).toHaveLength(1);
  });

  it('bounces at once where the domain takes no mail', async () => {
    const mx = await farEnd({});
    dns.set('null.test', { MX: ['.'], A: [mx.address] });
    const entries = await finished(await send('null', 'a@null.test'));
    expect(kinds(entries)).toEqual(['accepted', 'bounced']);
    expect(entries[1]?.Bounce).toMatchObject({
      EnhancedCode: '5.1.10',
      Class: 'DomainInvalid',
      Type: 'Permanent',
    });
    expect(mx.connections).toHaveLength(0);
  });

  it('bounces for a domain that does not exist after a second look', async () => {
    const entries = await finished(await send('nowhere', 'a@nowhere.test'));
    expect(kinds(entries)).toEqual(['accepted', 'deferred', 'bounced']);
    expect(entries[2]?.Bounce).toMatchObject({ EnhancedCode: '5.1.2', Class: 'DomainInvalid' });
  });

  it('waits while DNS gives no answer, and delivers once it does', async () => {
    const mx = await domain('blind.test', {});
    dns.fault('blind.test', { kind: 'servfail' });
    const id = await send('blind', 'a@blind.test');
    await until('it is deferred', 15_000, async () => kinds(await timeline(server, id)).includes('deferred'));
    expect((await timeline(server, id))[1]?.Bounce).toMatchObject({ Class: 'DnsFailure', Scope: 'path' });
    dns.fault('blind.test', undefined);
    expect(kinds(await finished(id)).at(-1)).toBe('delivered');
    expect(messagesOf(mx)).toHaveLength(1);
  });

  it('never connects to a private address', async () => {
    const inside = await farEnd({}, PRIVATE);
    dns.set('inside.test', { MX: ['mx.inside.test'] });
    dns.set('mx.inside.test', { A: [PRIVATE] });
    const entries = await finished(await send('inside', 'a@inside.test'));
    expect(kinds(entries).at(-1)).toBe('bounced');
    expect(entries.at(-1)?.Bounce).toMatchObject({ Class: 'RoutingLoop', EnhancedCode: '5.4.6' });
    expect(inside.connections).toHaveLength(0);
  });
});

describe('stopping beside a far end that never greets', () => {
  it('does not wait for it, and keeps its mail', async () => {
    const exit = await server.terminate();
    expect(exit.code).toBe(0);
    expect(exit.tookMs).toBeLessThan(10_000);
  });
});
