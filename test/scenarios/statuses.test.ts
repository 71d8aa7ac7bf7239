/** The words for where mail stands: the same in the list, in the message, in the filter and in the terminal. */
import { beforeAll, describe, expect, it } from 'vitest';
import { STATUS_WORDS } from '../../src/model/status.ts';
import { startScriptedMx } from '../fakes/scripted-mx.ts';
import { command } from './commands.ts';
import { addDomain, fileScope, type Instance, startInstance, until } from './harness.ts';

interface Listed {
  MessageID: string;
  Subject: string;
  Status: string;
  RecipientStatuses: Record<string, number>;
}

/** Subject → `Status` of the message, and its recipients' words. */
const EXPECTED: Record<string, [string, Record<string, number>]> = {
  refused: ['Failed', { Bounced: 1 }],
  taken: ['Delivered', { Delivered: 1 }],
  'put off': ['Queued', { Deferred: 1 }],
  held: ['Queued', { Held: 1 }],
  later: ['Scheduled', { Scheduled: 1 }],
  stopped: ['Canceled', { Canceled: 1 }],
  captured: ['Delivered', { Captured: 1 }],
  'given up': ['Failed', { Failed: 1 }],
  mixed: ['PartiallyDelivered', { Bounced: 1, Suppressed: 1, Captured: 1 }],
  'held for one': ['Queued', { Held: 1, Captured: 1 }],
};

const scope = fileScope();
let server: Instance;

beforeAll(async () => {
  const mx = await startScriptedMx({ rcpt: ['550 5.1.1 no such user', '250 2.1.5 fine', '450 4.2.1 busy'] });
  scope.defer(() => mx.close());
  server = await startInstance(scope, { settings: { route: `smtp://127.0.0.1:${mx.port}`, retry: '1h' } });
  const token = await addDomain(server, 'example.com');
  const send = (Subject: string, ...to: string[]) =>
    server.send({ Subject, To: to.map((email) => ({ email })) }, { token });
  await server.settled(await send('refused', 'nobody@example.net'));
  await server.settled(await send('taken', 'reader@example.net'));
  const late = await send('put off', 'busy@example.net');
  await until('it is put off', async () => (await server.statusOf(late)) === 'Deferred');
  const hold = { RecipientDomain: 'example.org', Reason: 'their maintenance' };
  expect((await server.call('POST', '/queue/hold', { body: hold })).status).toBe(201);
  await send('held', 'reader@example.org');
  const SendAt = new Date(Date.now() + 3_600_000).toISOString();
  const asked = (Subject: string) => server.send({ Subject, SendAt }, { token });
  await asked('later');
  await server.call('POST', `/email/${await asked('stopped')}/cancel`, { token });
  await server.settled(await send('captured', 'delivered@simulator.test'));
  await server.settled(await send('given up', 'failed@simulator.test'));
  const three = ['delivered', 'bounced', 'suppressed'].map((local) => `${local}@simulator.test`);
  await server.settled(await send('mixed', ...three));
  const one = await send('held for one', 'reader@example.org', 'delivered@simulator.test');
  await until('one is captured', async () => (await server.statusOf(one, three[0])) === 'Delivered');
});

const list = async (query = ''): Promise<Listed[]> =>
  (await server.call('GET', `/email?Limit=100${query}`)).json.Items;

describe('where mail stands', () => {
  it('is shown by the list with the words of its recipients', async () => {
    const found = (await list()).map(({ Subject, Status, RecipientStatuses }) => [
      Subject,
      [Status, RecipientStatuses],
    ]);
    expect(Object.fromEntries(found)).toEqual(EXPECTED);
  });

  it('is found by every word that the list or the message shows, and by no other', async () => {
    const all = await list();
    const words = new Map<string, Set<string>>();
    for (const { MessageID, Status, RecipientStatuses } of all) {
      const { Recipients } = (await server.call('GET', `/email/${MessageID}`)).json;
      const own = Recipients.map((row: { Status: string }) => row.Status);
      words.set(MessageID, new Set([Status, ...Object.keys(RecipientStatuses), ...own]));
    }
    for (const word of STATUS_WORDS) {
      const found = (await list(`&Status=${word.toLowerCase()}`)).map((one) => one.MessageID);
      const showing = all.map((one) => one.MessageID).filter((id) => words.get(id)?.has(word));
      expect(found, word).toEqual(showing);
    }
    const captured = await list('&Status=Captured');
    expect(captured.map(({ Subject }) => Subject)).toEqual(['held for one', 'mixed', 'captured']);
    const unknown = await server.call('GET', '/email?Status=Lost');
    expect([unknown.status, unknown.text]).toEqual([422, expect.stringContaining(STATUS_WORDS.join(', '))]);
  });

  it('is that of the recipients who are asked for', async () => {
    const found = async (query: string) => (await list(`&${query}`)).map(({ Subject }) => Subject);
    expect(await found('RecipientDomain=Example.ORG')).toEqual(['held for one', 'held']);
    expect(await found('RecipientDomain=example.org&Status=Queued')).toEqual(['held for one', 'held']);
    expect(await found('RecipientDomain=simulator.test&Status=Queued')).toEqual([]);
    expect(await found('RecipientDomain=simulator.test&Status=Delivered')).toEqual([
      'held for one',
      'mixed',
      'captured',
    ]);
    expect(await found('To=delivered@simulator.test&Status=Bounced')).toEqual([]);
    expect(await found('To=bounced@simulator.test&Status=Bounced')).toEqual(['mixed']);
    expect(await found('To=Bounced@simulator.test&Status=Bounced')).toEqual(['mixed']);
  });

  it('is printed with the same words by the commands', async () => {
    const run = async (...args: string[]) => {
      const { code, stdout, stderr } = await command([...args, '--data', server.folder]);
      expect(code, stderr).toBe(0);
      return stdout;
    };
    const lines = (await run('messages')).split('\n');
    const ofOne = await run('messages', '--recipient-domain', 'example.org', '--status', 'Held');
    expect(ofOne.trim().split('\n')).toHaveLength(3);
    for (const [subject, text] of [
      ['refused', 'Bounced'],
      ['put off', 'Deferred'],
      ['held', 'Held'],
      ['captured', 'Captured'],
      ['mixed', 'Bounced 1, Suppressed 1, Captured 1'],
    ] as const)
      expect(lines.find((line) => line.endsWith(`  ${subject}`))).toContain(`  ${text}  `);
    const found = (await run('messages', '--status', 'captured', '--subject', 'mixed')).split('\n')[1] ?? '';
    const one = await run('message', found.split(' ')[0] ?? '');
    expect(one).toMatch(/delivered@simulator\.test +Captured/);
    expect(await run('queue')).toMatch(/Held: their maintenance \(2\)/);
  });
});
