/**
 * Several recipients of one large message in one transaction: who may share one, and that each recipient gets what the
 * replies say of it, whatever the others got.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { createFakeDns, type FakeDns } from '../fakes/fake-dns.ts';
import type { ScriptedMx } from '../fakes/scripted-mx.ts';
import { directKit } from './direct-kit.ts';
import { fileScope, type Instance, until } from './harness.ts';
import { readMail } from './signed-mail.ts';

const scope = fileScope();
let dns: FakeDns;
const kit = directKit(scope, () => dns, '127.33');
const LARGE = 'A line that is repeated until this message is a large one.\r\n'.repeat(5_000);

beforeAll(async () => {
  dns = await createFakeDns();
  scope.defer(() => dns.close());
});

/** Recipients of each transaction that was begun, without the domain. */
function transactionsOf(mx: ScriptedMx): string[][] {
  const found: string[][] = [];
  for (const { commands } of mx.connections) {
    for (const line of commands) {
      if (/^MAIL /i.test(line)) found.push([]);
      const rcpt = /^RCPT TO:<([^>]*)>/i.exec(line);
      if (rcpt !== null) found.at(-1)?.push(rcpt[1]?.replace(/@.*/, '') ?? '');
    }
  }
  return found;
}

const returnPathsOf = (mx: ScriptedMx): string[] =>
  mx.connections.flatMap(({ commands }) =>
    commands.flatMap((line) => /^MAIL FROM:<([^>]*)>/i.exec(line)?.[1] ?? []),
  );

const large = (server: Instance, token: string, to: readonly string[], more: object = {}) =>
  server.send(
    {
      To: to.map((email) => ({ email })),
      ContentType: 'Text',
      HTMLContent: undefined,
      PlainContent: LARGE,
      ...more,
    },
    { token },
  );

function byAddress(facts: { Recipients: { Email: string }[] }): Record<string, Record<string, unknown>> {
  return Object.fromEntries(facts.Recipients.map((row) => [row.Email.replace(/@.*/, ''), row]));
}

describe('a large message to several recipients of one domain', () => {
  it('goes in one transaction with a return path of its own, and a small one does not', async () => {
    const mx = await kit.farEnd({});
    dns.set('big.test', { MX: ['mx.big.test'] });
    dns.set('mx.big.test', { A: [mx.address] });
    const { server, token } = await kit.start();
    const id = await large(server, token, ['a@big.test', 'b@big.test', 'c@big.test']);
    const facts = await server.settled(id);
    expect(facts.Recipients).toMatchObject(Array(3).fill({ Status: 'Delivered', Attempts: 1 }));
    expect(transactionsOf(mx).map((to) => to.sort())).toEqual([['a', 'b', 'c']]);
    expect(returnPathsOf(mx)[0]).toMatch(/^g-[0-9a-z]{14}-[0-9a-z]{16}@/);
    const [message] = mx.connections.flatMap(({ messages }) => messages);
    if (message === undefined) throw new Error('nothing arrived');
    expect(readMail(message).header('x-postrider-ref')).toEqual([]);
    expect(readMail(message).header('dkim-signature')).toHaveLength(1);
    const small = await server.send({ To: [{ email: 'a@big.test' }, { email: 'b@big.test' }] }, { token });
    await server.settled(small);
    expect(transactionsOf(mx).slice(1)).toHaveLength(2);
    expect(returnPathsOf(mx).slice(1)).toEqual([expect.stringMatching(/^b-/), expect.stringMatching(/^b-/)]);
  });

  it('never shares a transaction between domains, though they share their host', async () => {
    const mx = await kit.farEnd({});
    for (const name of ['one.test', 'two.test']) dns.set(name, { MX: ['mx.shared.test'] });
    dns.set('mx.shared.test', { A: [mx.address] });
    const { server, token } = await kit.start();
    const id = await large(server, token, ['a@one.test', 'b@one.test', 'c@two.test', 'd@two.test']);
    expect((await server.settled(id)).Status).toBe('Delivered');
    const transactions = transactionsOf(mx).map((to) => to.sort().join());
    expect(transactions.sort()).toEqual(['a,b', 'c,d']);
  });

  it('never lets a Bcc recipient share a transaction', async () => {
    const mx = await kit.farEnd({});
    dns.set('blind.test', { MX: ['mx.blind.test'] });
    dns.set('mx.blind.test', { A: [mx.address] });
    const { server, token } = await kit.start();
    const id = await large(server, token, ['a@blind.test', 'b@blind.test'], {
      BCC: [{ email: 'x@blind.test' }, { email: 'y@blind.test' }],
    });
    expect((await server.settled(id)).Status).toBe('Delivered');
    const transactions = transactionsOf(mx).map((to) => to.sort().join());
    expect(transactions.sort()).toEqual(['a,b', 'x', 'y']);
  });

  it('goes on at once with the rest where the server wants fewer, which is kept for a day', async () => {
    const mx = await kit.farEnd([
      {
        rcpt: ['250 ok', '250 ok', '452 4.5.3 Too many recipients', '552 Too many recipients', '250 ok'],
      },
      {},
    ]);
    dns.set('two.few.test', { MX: ['mx.few.test'] });
    dns.set('mx.few.test', { A: [mx.address] });
    const { server, token } = await kit.start({ settings: { 'max-connections': '1' } });
    const four = ['a', 'b', 'c', 'd'].map((name) => `${name}@two.few.test`);
    const facts = await server.settled(await large(server, token, four));
    expect(facts.Recipients).toMatchObject(Array(4).fill({ Status: 'Delivered', Attempts: 1 }));
    expect(transactionsOf(mx)).toEqual([
      ['a', 'b', 'c', 'd'],
      ['c', 'd'],
    ]);
    const [override] = (await server.call('GET', '/overrides')).json.Items;
    expect(override).toMatchObject({ Scope: 'path', Param: 'recipientsPerTransaction', Value: 2 });
    expect(Date.parse(override.Until) - Date.now()).toBeGreaterThan(23 * 3_600_000);
    await server.settled(await large(server, token, four));
    expect(
      transactionsOf(mx)
        .slice(2)
        .map((to) => to.length),
    ).toEqual([2, 2]);
  });

  it('waits like any other where the first recipient is one too many', async () => {
    const mx = await kit.farEnd({ rcpt: '452 4.5.3 Too many recipients' });
    dns.set('none.test', { MX: ['mx.none.test'] });
    dns.set('mx.none.test', { A: [mx.address] });
    const { server, token } = await kit.start({ settings: { retry: '300s' } });
    const id = await large(server, token, ['a@none.test', 'b@none.test']);
    await until('both are deferred', async () => {
      const { Recipients } = (await server.call('GET', `/email/${id}`)).json;
      return Recipients.every(({ Attempts }: { Attempts: number }) => Attempts === 1) || null;
    });
    expect((await server.call('GET', '/overrides')).json.Items).toEqual([]);
  });
});

describe('each recipient of a shared transaction', () => {
  it('keeps its own refusal, and gets the answer to the message where it was accepted', async () => {
    const refusals = ['250 ok', '550 5.1.1 No such user', '450 4.2.2 Mailbox full', '251 forwarded'];
    const mx = await kit.farEnd({ rcpt: refusals, dot: ['554 5.6.0 Not this one', '250 ok'] });
    dns.set('mixed.test', { MX: ['mx.mixed.test'] });
    dns.set('mx.mixed.test', { A: [mx.address] });
    const { server, token } = await kit.start({ settings: { retry: '300s' } });
    const id = await large(
      server,
      token,
      ['a', 'b', 'c', 'd'].map((name) => `${name}@mixed.test`),
    );
    const rows = await until('all are decided', async () => {
      const found = byAddress((await server.call('GET', `/email/${id}`)).json);
      return Object.values(found).every(({ LastSmtpCode }) => LastSmtpCode !== 0) ? found : null;
    });
    expect(transactionsOf(mx)).toHaveLength(1);
    expect(rows).toMatchObject({
      a: { Status: 'Bounced', LastSmtpCode: 554 },
      b: { Status: 'Bounced', LastSmtpCode: 550 },
      c: { Status: 'Deferred', LastSmtpCode: 450 },
      d: { Status: 'Bounced', LastSmtpCode: 554 },
    });
  });

  it('is put off with the message, and later tried by the same return path', async () => {
    const mx = await kit.farEnd({ dot: ['451 4.7.1 Greylisted, try again', '250 ok'] });
    dns.set('grey.test', { MX: ['mx.grey.test'] });
    dns.set('mx.grey.test', { A: [mx.address] });
    // Only what asks for it below brings the second attempt.
    const { server, token } = await kit.start({ settings: { retry: '300s' } });
    const id = await large(server, token, ['a@grey.test', 'b@grey.test']);
    await until('both were put off', async () => {
      const { Recipients } = (await server.call('GET', `/email/${id}`)).json;
      return Recipients.every(({ Attempts }: { Attempts: number }) => Attempts === 1) || null;
    });
    expect((await server.call('POST', `/email/${id}/retry`)).status).toBe(200);
    const facts = await server.settled(id);
    expect(facts.Recipients).toMatchObject(Array(2).fill({ Status: 'Delivered', Attempts: 2 }));
    expect(new Set(returnPathsOf(mx)).size).toBe(1);
  });

  it('is decided where all are refused, and no message is sent', async () => {
    const mx = await kit.farEnd({ rcpt: '550 5.1.1 No such user' });
    dns.set('nobody.test', { MX: ['mx.nobody.test'] });
    dns.set('mx.nobody.test', { A: [mx.address] });
    const { server, token } = await kit.start();
    const id = await large(server, token, ['a@nobody.test', 'b@nobody.test']);
    expect((await server.settled(id)).Recipients).toMatchObject(
      Array(2).fill({ Status: 'Bounced', LastSmtpCode: 550 }),
    );
    // One recipient alone: DATA travels with it, is answered with 354, and a lone dot ends it.
    const alone = await server.send({ To: [{ email: 'c@nobody.test' }] }, { token });
    expect((await server.settled(alone)).Recipients[0]).toMatchObject({ Status: 'Bounced' });
    expect(mx.connections.flatMap(({ messages }) => messages).filter(({ length }) => length > 0)).toEqual([]);
  });

  it('is tried again as of unknown outcome where the connection ends after the final dot', async () => {
    const mx = await kit.farEnd([
      { dot: { do: 'reset' }, rcpt: ['250 ok', '550 5.1.1 No such user', '250 ok'] },
      {},
    ]);
    dns.set('cut.test', { MX: ['mx.cut.test'] });
    dns.set('mx.cut.test', { A: [mx.address] });
    const { server, token } = await kit.start({ settings: { retry: '300s' } });
    const id = await large(server, token, ['a@cut.test', 'b@cut.test', 'c@cut.test']);
    const rows = await until('all are decided', async () => {
      const found = byAddress((await server.call('GET', `/email/${id}`)).json);
      return Object.values(found).every(({ Attempts }) => Attempts === 1) ? found : null;
    });
    expect(rows).toMatchObject({
      a: { Status: 'Deferred', Class: 'outcome_unknown' },
      b: { Status: 'Bounced', LastSmtpCode: 550 },
      c: { Status: 'Deferred', Class: 'outcome_unknown' },
    });
  });
});
