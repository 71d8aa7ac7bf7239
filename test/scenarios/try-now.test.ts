/** A path or relay that is closed can be opened by hand, and says so to whoever asks for mail to be tried again. */
import { describe, expect, it } from 'vitest';
import { startScriptedMx } from '../fakes/scripted-mx.ts';
import { startSmtpSink } from '../fakes/smtp-sink.ts';
import { command, startCommand } from './commands.ts';
import { addDomain, fileScope, type Instance, startInstance, until } from './harness.ts';

const scope = fileScope();

/** A relay that takes no connection until `mend` is called; `retry` 1h keeps its path closed for an hour. */
async function failing() {
  let closed = true;
  const relay = await startScriptedMx({
    get banner() {
      return closed ? '421 4.3.2 closed for the day' : '220 relay.test';
    },
  });
  scope.defer(() => relay.close());
  const server = await startInstance(scope, {
    settings: { route: `smtp://127.0.0.1:${relay.port}`, retry: '1h' },
  });
  const token = await addDomain(server, 'example.com');
  return {
    server,
    token,
    site: `relay:127.0.0.1:${relay.port}`,
    mend: () => {
      closed = false;
    },
  };
}

async function closedPath(server: Instance, site: string) {
  return until(`the path ${site} is closed`, async () => {
    const { Items } = (await server.call('GET', '/queue/paths')).json;
    return Items.find((item: { Site: string; State: string }) => item.Site === site && item.State === 'open');
  });
}

describe('a path that is closed', () => {
  it('is waited for by the command, as a process, while the far end says nothing', async () => {
    const relay = await startScriptedMx([
      { banner: '421 4.3.2 closed for the day' },
      { banner: { do: 'silence' } },
    ]);
    scope.defer(() => relay.close());
    const server = await startInstance(scope, {
      settings: { route: `smtp://127.0.0.1:${relay.port}`, retry: '1h' },
    });
    const site = `relay:127.0.0.1:${relay.port}`;
    await server.send({}, { token: await addDomain(server, 'example.com') });
    await closedPath(server, site);
    const tried = await startCommand(scope, ['queue', 'try', site, '--data', server.folder]).ended;
    expect(tried).toMatchObject({ code: 0, stderr: '' });
    expect(tried.stdout).toContain('Nothing came of it yet');
  });

  it('is tried now by one operation, and by one command', async () => {
    const { server, token, site, mend } = await failing();
    // Null where it was asked too often.
    const attention = async () =>
      (await server.call('GET', '/attention')).json.Items?.filter(
        ({ Kind }: { Kind: string }) => Kind === 'relay',
      ) ?? null;
    const id = await server.send({}, { token });
    await closedPath(server, site);
    const told = await until('the closed relay is told', async () =>
      (await attention())?.find(({ Since }: { Since: string | null }) => Since !== null),
    );
    expect(told).toMatchObject({ Subject: site.slice('relay:'.length), Until: expect.any(String) });
    // It fails again: closed again. Where nodes share a source, its lease may have to be asked for first.
    const first = await server.call('POST', `/queue/paths/${encodeURIComponent(site)}/try`);
    expect(first.json).toMatchObject({ Tried: 1, Paths: [{ Site: site }] });
    await closedPath(server, site);
    mend();
    const tried = await command(['queue', 'try', site, '--data', server.folder]);
    expect(tried.stdout).toContain('One message is sent now');
    expect((await server.settled(id)).Status).toBe('Delivered');
    await until('nothing needs attention', async () => (await attention())?.length === 0);
    const nothing = await server.call('POST', `/queue/paths/${encodeURIComponent(site)}/try`);
    expect(nothing.json).toMatchObject({ Tried: 0, Paths: [{ State: 'closed', Reason: null }] });
    expect((await server.call('POST', '/queue/paths/nowhere.example/try')).status).toBe(404);
    expect((await server.call('POST', `/queue/paths/${site}/try`, { token })).status).toBe(403);
  });

  it('is shown with what came of the attempt, a failure or an acceptance', async () => {
    const { server, token, site, mend } = await failing();
    const id = await server.send({}, { token });
    await closedPath(server, site);
    const words = ['queue', 'try', site, '--data', server.folder];
    const again = (await command(words)).stdout;
    expect(again).toMatch(
      new RegExp(`^Result: ${site} failed again: .*421 .*closed for the day.* tried again at 2`, 'm'),
    );
    expect(again).toMatch(/^127\.0\.0\.1:\d+ +2 /m);
    mend();
    expect((await command(words)).stdout).toMatch(
      new RegExp(`^Result: ${site} accepted a message: 250 `, 'm'),
    );
    expect((await server.settled(id)).Status).toBe('Delivered');
    expect((await command(words)).stdout).toContain('there is nothing to try');
  });

  it('says how to look where nothing came of the attempt', async () => {
    const { server, token, site } = await failing();
    const id = await server.send({}, { token });
    await closedPath(server, site);
    expect((await server.call('POST', `/email/${id}/cancel`, { token })).status).toBe(200);
    const { stdout } = await command(['queue', 'try', site, '--data', server.folder]);
    expect(stdout).toMatch(
      new RegExp(`^Nothing came of it yet. Look again: \\S*postrider queue path ${site} --data`, 'm'),
    );
  });

  it('opens for an administrator who retries a message, and is named to everybody else', async () => {
    const { server, token, site, mend } = await failing();
    const id = await server.send({}, { token });
    await closedPath(server, site);
    const waits = await server.send({ To: [{ email: 'later@example.net' }] }, { token });
    mend();
    const behind = await server.call('POST', `/email/${waits}/retry`, { token });
    expect([behind.status, behind.json.Errors[0].Message]).toEqual([
      409,
      expect.stringContaining('It goes when its path opens'),
    ]);
    expect((await server.call('POST', `/email/${waits}/retry`)).json).toMatchObject({
      Opened: 1,
      Closed: [],
    });
    expect((await server.settled(id)).Status).toBe('Delivered');
    expect((await server.settled(waits)).Status).toBe('Delivered');
  });

  it('opens when its cause is resent', async () => {
    const { server, token, site, mend } = await failing();
    const id = await server.send({}, { token });
    await closedPath(server, site);
    mend();
    const Items = await until('its cause is known', async () => {
      const { Items: known } = (await server.call('GET', '/causes')).json;
      return known.length > 0 && known;
    });
    const resent = await server.call('POST', `/causes/${Items[0].CauseID}/resend`);
    expect(resent.json).toMatchObject({ Queued: 1, Opened: 1 });
    expect((await server.settled(id)).Status).toBe('Delivered');
  });

  it('is met again after a restart: the pause was our own', async () => {
    const { server, token, site, mend } = await failing();
    const first = await server.send({}, { token });
    await closedPath(server, site);
    mend();
    await server.stop();
    const again = await startInstance(scope, {
      folder: server.folder,
      settings: { route: `smtp://${site.slice('relay:'.length)}`, retry: '1h' },
    });
    const id = await again.send({ To: [{ email: 'new@example.net' }] }, { token });
    expect((await again.settled(id)).Status).toBe('Delivered');
    // What the pause had put off by an hour keeps its time until somebody asks for it by its domain.
    expect((await again.call('GET', `/email/${first}`)).json.Status).toBe('Queued');
    const tried = await command(['queue', 'try', 'example.net', '--data', again.folder]);
    expect(tried.stdout).toContain(
      '1 recipient that waited because of an earlier failure or reply: tried now.',
    );
    expect((await again.settled(first)).Status).toBe('Delivered');
  });
});

describe('the wait of a relay that still fails after a restart', () => {
  it('goes on where it is the only one: one message tries it at once, and its next wait is the longer one', async () => {
    const refusing = await startScriptedMx({ mail: '530 5.7.0 Authentication required' });
    scope.defer(() => refusing.close());
    const settings = { route: `smtp://127.0.0.1:${refusing.port}`, retry: '1h,3h' };
    const site = `relay:127.0.0.1:${refusing.port}`;
    const before = await startInstance(scope, { settings });
    const token = await addDomain(before, 'example.com');
    await before.send({}, { token });
    await closedPath(before, site);
    await before.stop();
    const met = refusing.connections.length;
    const after = await startInstance(scope, { settings, folder: before.folder });
    await after.send({ To: [{ email: 'new@example.net' }] }, { token });
    await closedPath(after, site);
    expect(refusing.connections).toHaveLength(met + 1);
    const [path] = (await after.call('GET', `/queue/paths/${encodeURIComponent(site)}`)).json.Paths;
    // The second of the waits, three hours, and not the first.
    expect(Date.parse(path.WaitsUntil) - Date.now()).toBeGreaterThan(2 * 3_600_000);
  });
});

describe('a relay that put off each recipient', () => {
  it('gets their mail now by its name, though nothing was closed', async () => {
    let greylists = true;
    const relay = await startScriptedMx({
      get rcpt() {
        return greylists ? '451 4.7.1 greylisted, try later' : '250 2.1.5 fine';
      },
    });
    scope.defer(() => relay.close());
    const server = await startInstance(scope, {
      settings: { route: `smtp://127.0.0.1:${relay.port}`, retry: '1h' },
    });
    const token = await addDomain(server, 'example.com');
    const ids: string[] = [];
    for (const email of ['a@one.example', 'b@two.example', 'c@two.example'])
      ids.push(await server.send({ To: [{ email }] }, { token }));
    const statuses = () =>
      Promise.all(ids.map(async (id) => (await server.call('GET', `/email/${id}`)).json.Recipients[0]));
    await until('all are put off', async () =>
      (await statuses()).every(({ WaitReason }) => WaitReason === 'deferred'),
    );
    greylists = false;
    const tried = await command(['queue', 'try', `127.0.0.1:${relay.port}`, '--data', server.folder]);
    expect(tried.stdout).toContain(
      '3 recipients that waited because of an earlier failure or reply: tried now.',
    );
    for (const id of ids) expect((await server.settled(id)).Status).toBe('Delivered');
  });
});

describe('a relay that is passed over', () => {
  it('is asked again at once by its name', async () => {
    let refuses = true;
    const first = await startScriptedMx({
      get mail() {
        return refuses ? '530 5.7.0 Authentication required' : '250 ok';
      },
    });
    const second = await startSmtpSink();
    scope.defer(() => Promise.all([first.close(), second.close()]));
    const server = await startInstance(scope, {
      settings: { route: `smtp://127.0.0.1:${first.port},smtp://127.0.0.1:${second.port}` },
    });
    const token = await addDomain(server, 'example.com');
    expect((await server.settled(await server.send({}, { token }))).Status).toBe('Delivered');
    const relay = `127.0.0.1:${first.port}`;
    expect((await server.call('GET', '/queue/paths')).json.Relays).toMatchObject([{ Relay: relay }]);
    refuses = false;
    expect((await server.call('POST', `/queue/paths/${relay}/try`)).json).toMatchObject({ Tried: 1 });
    expect((await server.settled(await server.send({}, { token }))).Status).toBe('Delivered');
    expect(second.messages).toHaveLength(1);
    expect((await server.call('GET', '/queue/paths')).json.Relays).toEqual([]);
  });
});
