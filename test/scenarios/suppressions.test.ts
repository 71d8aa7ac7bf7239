/** Whom not to send to: what far ends say decides it, at once, for one sender domain; and a person can take it back. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Script, startScriptedMx } from '../fakes/scripted-mx.ts';
import { command } from './commands.ts';
import { addDomain, email, fileScope, type Instance, startInstance, until } from './harness.ts';

const scope = fileScope();

async function relayTo(script: Script, retry = '100ms') {
  const mx = await startScriptedMx(script);
  scope.defer(() => mx.close());
  const server = await startInstance(scope, {
    settings: { route: `smtp://127.0.0.1:${mx.port}`, retry },
  });
  const token = await addDomain(server, 'example.com', { Preset: 'Full' });
  const recipients = () =>
    mx.connections.flatMap((connection) => connection.commands.filter((line) => line.startsWith('RCPT')));
  return { server, token, recipients };
}

const codes = (answer: { status: number; json: { Errors?: { Code: number }[] } }) => [
  answer.status,
  answer.json.Errors?.[0]?.Code,
];
const listOf = async (server: Instance, token: string) =>
  (await server.call('GET', '/suppressions', { token })).json.Items;

describe('an address that the far end calls unknown', () => {
  it('is not sent to again, until it is taken off the list', async () => {
    const { server, token, recipients } = await relayTo({
      rcpt: ['550 5.1.1 No such user here', '250 2.1.5 Ok'],
    });
    const id = await server.send({ To: [{ email: 'Gone@example.net' }] }, { token });
    expect((await server.settled(id)).Recipients[0]).toMatchObject({ Status: 'Bounced' });
    expect(await listOf(server, token)).toMatchObject([
      {
        Email: 'Gone@example.net',
        Domain: 'example.com',
        Reason: 'Bounce',
        MessageID: id,
        Reply: '550 5.1.1 No such user here',
        ExpiresAt: null,
        Rule: expect.stringMatching(/./),
      },
    ]);
    const timeline = (await server.call('GET', `/email/${id}/events`, { token })).json.Items;
    expect(timeline.map(({ Event }: { Event: string }) => Event)).toEqual([
      'accepted',
      'bounced',
      'suppression_added',
    ]);

    const body = email({ To: [{ email: 'gone@EXAMPLE.net' }] });
    const refused = await server.call('POST', '/email', { token, body });
    expect(codes(refused)).toEqual([422, 14]);
    expect(refused.text).toContain('550 5.1.1 No such user here');
    expect(codes(await server.call('POST', `/email/${id}/retry`, { token }))).toEqual([409, 1802]);
    const both = email({ To: [{ email: 'gone@example.net' }, { email: 'here@example.net' }] });
    const partly = (await server.call('POST', '/email', { token, body: both })).json.MessageID;
    const rows = (await server.settled(partly)).Recipients.map(({ Email, Status }) => `${Email} ${Status}`);
    expect(rows).toEqual(['gone@example.net Suppressed', 'here@example.net Delivered']);
    expect(recipients()).toHaveLength(2);

    const lifted = await server.call('DELETE', '/suppressions/gone%40example.net', { token });
    expect(lifted.status).toBe(200);
    const again = (await server.call('POST', '/email', { token, body })).json.MessageID;
    expect((await server.settled(again)).Status).toBe('Delivered');
  });

  it('stays free for every other tenant', async () => {
    const { server, token } = await relayTo({ rcpt: ['550 5.1.1 No such user here', '250 2.1.5 Ok'] });
    const theirs = await addDomain(server, 'theirs.example', { Preset: 'Full' });
    await server.settled(await server.send({}, { token }));
    expect(await listOf(server, token)).toHaveLength(1);
    expect(await listOf(server, theirs)).toEqual([]);
    const id = await server.send({ From: { email: 'a@theirs.example' } }, { token: theirs });
    expect((await server.settled(id)).Status).toBe('Delivered');
  });
});

describe('nobody is put on the list', () => {
  it.each([
    '550 your IP is blocked',
    '554 5.7.1 Service unavailable; Client host [192.0.2.1] blocked using zen.spamhaus.org',
    '550 5.7.1 Message rejected as spam',
    '450 4.1.1 No such user',
    '552 5.2.2 Mailbox full',
  ])('by "%s"', async (reply) => {
    // One attempt is looked at: further ones, ten a second, would be work for every test that follows.
    const { server, token, recipients } = await relayTo({ rcpt: reply }, '300s');
    const id = await server.send({}, { token });
    await until('it was refused and that was recorded', async () => {
      const { json } = await server.call('GET', `/email/${id}`, { token });
      return json.Recipients[0].LastResponse !== '';
    });
    expect(recipients().length).toBeGreaterThan(0);
    expect(await listOf(server, token)).toEqual([]);
    expect((await server.call('POST', '/email', { token, body: email() })).status).toBe(200);
  });

  it('by what the sandbox plays', async () => {
    const server = await startInstance(scope);
    const token = await addDomain(server, 'example.com', { Preset: 'Full' });
    for (const overrides of [
      { To: [{ email: 'bounced@simulator.test' }] },
      { Sandbox: { Result: 'Bounce' } },
      { Sandbox: { Result: 'Complain' } },
    ]) {
      await server.settled(await server.send(overrides, { token }));
    }
    expect(await listOf(server, token)).toEqual([]);
  });
});

describe('a recipient who is put on the list while the message waits', () => {
  it('is not tried again', async () => {
    const mx = await startScriptedMx({ rcpt: '451 4.3.0 not now' });
    scope.defer(() => mx.close());
    const server = await startInstance(scope, {
      settings: { route: `smtp://127.0.0.1:${mx.port}`, retry: '700ms' },
    });
    const token = await addDomain(server, 'example.com', { Preset: 'Full' });
    const id = await server.send({}, { token });
    await until('it was deferred', async () => (await server.statusOf(id)) === 'Deferred');
    const tried = mx.connections
      .flatMap(({ commands }) => commands)
      .filter((line) => line.startsWith('RCPT'));
    const body = { Items: [{ Email: 'reader@example.net' }] };
    await server.call('POST', '/suppressions', { token, body });
    const facts = await server.settled(id);
    expect(facts.Recipients[0]?.Status).toBe('Suppressed');
    const after = mx.connections
      .flatMap(({ commands }) => commands)
      .filter((line) => line.startsWith('RCPT'));
    expect(after).toHaveLength(tried.length);
  });
});

describe('postrider suppress', () => {
  it('adds, lists, exports, imports and removes', async () => {
    const server = await startInstance(scope);
    await addDomain(server, 'example.com');
    await addDomain(server, 'other.example');
    const run = (...args: string[]) => command([...args, '--data', server.folder]);
    const added = await run(
      'suppress',
      'add',
      '--domain',
      'example.com',
      '--note',
      'a, "b"',
      'x@example.net',
    );
    expect([added.code, added.stdout]).toEqual([0, 'Added 1 address.\n']);
    const listed = await run('suppress', 'list', '--domain', 'example.com');
    expect(listed.stdout).toMatch(/x@example\.net +Manual +example\.com .*a, "b"/);

    const file = join(server.folder, 'list.csv');
    const exported = await run('suppress', 'export', '--domain', 'example.com', file);
    expect([exported.code, exported.stdout]).toEqual([0, `1 entry written to ${file}.\n`]);
    const imported = await run('suppress', 'import', '--domain', 'other.example', file);
    expect([imported.code, imported.stdout]).toEqual([0, 'Added 1 address.\n']);
    const onOutput = await run('suppress', 'export', '--domain', 'other.example');
    expect(onOutput.stdout).toMatch(
      /^Email,Reason,Note,.*\r\nx@example\.net,Manual,"a, ""b""",,other\.example,/,
    );
    const onDash = await run('suppress', 'export', '--domain', 'other.example', '-');
    expect(onDash.stdout).toBe(onOutput.stdout);

    await writeFile(file, 'email;reason\ny@example.net;bounce\nnobody;bounce\n');
    const refused = await run('suppress', 'import', '--domain', 'example.com', file);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain('line 3: "nobody" has no @');
    await writeFile(file, 'email,created\nleft@example.net,1443651154\n');
    const unsaid = await run('suppress', 'import', '--domain', 'example.com', file);
    expect([unsaid.code, unsaid.stderr]).toEqual([2, expect.stringContaining('No column says a reason')]);
    const said = await run('suppress', 'import', '--domain', 'example.com', '--reason', 'Unsubscribe', file);
    expect([said.code, said.stderr, said.stdout]).toEqual([0, '', 'Added 1 address.\n']);
    await writeFile(file, Array.from({ length: 2500 }, (_, i) => `m${i}@example.net`).join('\n'));
    const many = await run('suppress', 'import', '--domain', 'example.com', file);
    expect(many.stdout).toBe('Added 2500 addresses.\n');
    const long = `"${'нет такого адреса '.repeat(14)}"`;
    const lines = Array.from({ length: 1000 }, (_, i) => `n${i}@example.net,HardBounce,${long}`);
    await writeFile(file, ['Email,Reason,Note', ...lines].join('\n'));
    const noted = await run('suppress', 'import', '--domain', 'example.com', file);
    expect([noted.stderr, noted.stdout]).toEqual(['', 'Added 1000 addresses.\n']);

    const removed = await run('suppress', 'remove', '--domain', 'example.com', 'X@example.net');
    expect([removed.code, removed.stdout]).toEqual([0, 'Removed 1 address.\n']);
    expect((await run('suppress', 'remove', '--domain', 'example.com', 'x@example.net')).code).toBe(1);
  });
});
