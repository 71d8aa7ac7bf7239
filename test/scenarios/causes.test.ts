/** Cause groups: one fault met by many recipients is one line with a count, and one action sends them all again. */
import { beforeAll, describe, expect, it } from 'vitest';
import { startScriptedMx } from '../fakes/scripted-mx.ts';
import { command } from './commands.ts';
import { addDomain, fileScope, type Instance, makeToken, startInstance, until } from './harness.ts';

const REFUSED = '550 5.7.26 The DMARC check of example.com failed';
const scope = fileScope();
let server: Instance;
let token: string;

beforeAll(async () => {
  // Three refusals for one cause, then the cause is mended.
  const far = await startScriptedMx({ dot: [REFUSED, REFUSED, REFUSED, '250 2.0.0 taken'] });
  scope.defer(() => far.close());
  server = await startInstance(scope, {
    settings: { route: `smtp://127.0.0.1:${far.port}`, retry: '200ms' },
  });
  token = await addDomain(server, 'example.com');
});

describe('a cause group', () => {
  it('gathers what failed for one reason, and sends it again without those who are suppressed by now', async () => {
    const ids: string[] = [];
    for (const name of ['ada', 'grace', 'edsger']) {
      const id = await server.send({ To: [{ email: `${name}@far.test` }] }, { token });
      expect((await server.settled(id)).Recipients[0]).toMatchObject({ Status: 'Bounced' });
      ids.push(id);
    }
    const { Items } = (await server.call('GET', '/causes')).json;
    expect(Items).toHaveLength(1);
    const [cause] = Items;
    expect(cause).toMatchObject({
      Category: 'AuthFailed',
      Scope: 'sender_domain',
      SenderDomain: 'example.com',
      Failed: 3,
      Waiting: 0,
      Example: { MessageID: ids[2], Recipient: 'edsger@far.test' },
    });
    expect(cause.Reply).toContain('5.7.26');
    const same = (await server.call('GET', `/email?Cause=${cause.CauseID}`)).json.Items;
    expect(same.map(({ MessageID }: { MessageID: string }) => MessageID)).toEqual([...ids].reverse());
    const causeOf = async (by?: string) =>
      (await server.call('GET', `/email/${ids[0]}`, by === undefined ? {} : { token: by })).json.Recipients[0]
        .CauseID;
    expect(await causeOf()).toBe(cause.CauseID);
    // Others meet a cause too: who may not see them is told of none.
    expect(await causeOf(token)).toBeNull();
    expect(cause.Explanation).toMatch(/\w{20}|DKIM|SPF/);

    await server.call('POST', '/suppressions', {
      body: { Domain: 'example.com', Items: [{ Email: 'grace@far.test' }] },
    });
    const resent = await command([
      ...['causes', 'resend', String(cause.CauseID)],
      ...['--data', server.folder, '--json'],
    ]);
    expect(resent.code).toBe(0);
    expect(JSON.parse(resent.stdout)).toEqual({
      Queued: 2,
      Opened: 0,
      LeftOut: { Suppressed: 1, ContentGone: 0, Moved: 0 },
    });
    for (const id of [ids[0] ?? '', ids[2] ?? '']) {
      expect((await server.settled(id)).Recipients[0]).toMatchObject({ Status: 'Delivered' });
    }
    expect(await server.statusOf(ids[1] ?? '')).toBe('Bounced');
    const left = await command(['causes', '--data', server.folder]);
    expect(left.stdout).toMatch(/^AuthFailed: .*SPF, DKIM or DMARC/m);
    expect((await server.call('GET', `/causes/${cause.CauseID}`)).json).toMatchObject({ Failed: 1 });
  });

  it('is shown to admin tokens of all domains only, and an unknown one is 404', async () => {
    expect((await server.call('GET', '/causes', { token })).status).toBe(403);
    const admin = await makeToken(server, { Domains: ['example.com'], Preset: 'Admin' });
    expect((await server.call('GET', '/causes', { token: admin })).status).toBe(403);
    for (const id of ['0', '999', 'x', '%2e%2e']) {
      expect((await server.call('POST', `/causes/${id}/resend`)).status).toBe(404);
    }
  });
});

describe('a relay that makes every message come back later', () => {
  it('is one cause, with what it says in the list of causes and in the queue', async () => {
    const said = '451 4.7.1 Greylisting in action, please come back later';
    const relay = await startScriptedMx({ rcpt: said });
    scope.defer(() => relay.close());
    const grey = await startInstance(scope, {
      settings: { route: `smtp://127.0.0.1:${relay.port}`, retry: '1h' },
    });
    const own = await addDomain(grey, 'example.com');
    for (const email of ['ada@one.test', 'grace@two.test']) {
      const id = await grey.send({ To: [{ email }] }, { token: own });
      await until('it is put off', async () => (await grey.statusOf(id)) === 'Deferred');
    }
    const data = ['--data', grey.folder];
    const causes = (await command(['causes', ...data])).stdout;
    expect(causes).toMatch(new RegExp(`Greylisted +relay:127.0.0.1:${relay.port} +any +2 .*${said}`));
    for (const words of [['queue'], ['queue', 'path', 'one.test']])
      expect((await command([...words, ...data])).stdout).toContain(`Deferred: ${said}`);
  });
});

describe('mail that waits behind a failure', () => {
  it('is counted with the cause of the failure, which almost none of it has met', async () => {
    const relay = await startScriptedMx({ banner: '421 4.3.2 closed for the day' });
    scope.defer(() => relay.close());
    const night = await startInstance(scope, {
      settings: { route: `smtp://127.0.0.1:${relay.port}`, retry: '1h' },
    });
    const own = await addDomain(night, 'example.com');
    await night.send({ To: [{ email: 'first@one.test' }] }, { token: own });
    const causes = async () => (await night.call('GET', '/causes')).json.Items;
    await until('the path is closed', async () => (await causes()).length > 0);
    for (let n = 0; n < 8; n++) await night.send({ To: [{ email: `a${n}@d${n}.test` }] }, { token: own });
    const [cause, ...others] = await causes();
    expect(others).toEqual([]);
    expect(cause).toMatchObject({ Site: `relay:127.0.0.1:${relay.port}`, Waiting: 1, WaitingBehind: 8 });
    expect((await night.call('GET', `/causes/${cause.CauseID}`)).json).toMatchObject({ WaitingBehind: 8 });
    const { stdout } = await command(['causes', '--data', night.folder]);
    expect(stdout).toMatch(/ WAITING +BEHIND +FAILED .*\n.* any +1 +8 +0 /);
    expect(stdout).toContain('BEHIND: recipients that have not met the cause');
  });

  it('is counted where the cause has paused a sender domain', async () => {
    const far = await startScriptedMx({ dot: REFUSED });
    scope.defer(() => far.close());
    const night = await startInstance(scope, {
      settings: { route: `smtp://127.0.0.1:${far.port}`, retry: '1h' },
    });
    const own = await addDomain(night, 'example.com');
    const send = (name: string) => night.send({ To: [{ email: `${name}@far.test` }] }, { token: own });
    for (const name of ['ada', 'grace', 'edsger']) await night.settled(await send(name));
    for (const name of ['alan', 'barbara']) await send(name);
    expect((await night.call('GET', '/causes')).json.Items).toMatchObject([
      { Category: 'AuthFailed', Waiting: 0, WaitingBehind: 2, Failed: 3 },
    ]);
  });
});
