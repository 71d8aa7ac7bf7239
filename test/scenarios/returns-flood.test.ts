/**
 * A far end that keeps its reply to a message back and reports about that message meanwhile, as often as it can: one
 * report waits, the others are refused, and what others report is taken.
 */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startSmtpSink } from '../fakes/smtp-sink.ts';
import { addDomain, fileScope, startInstance, temporaryFolder, until } from './harness.ts';
import { dsn, handIn } from './returns-kit.ts';

const scope = fileScope();

describe('reports about a delivery that is kept open', () => {
  it('do not fill the spool, and one of them counts when the delivery is there', async () => {
    let answer = () => {};
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const far = await startSmtpSink({
      hold: ({ rcpts }) => (rcpts[0] === 'held@reader.example' ? answered : null),
    });
    scope.defer(() => far.close());
    scope.defer(() => answer());
    const folder = await temporaryFolder(scope);
    const server = await startInstance(scope, {
      folder,
      settings: {
        route: `smtp://127.0.0.1:${far.port}`,
        returns: '127.0.0.1:0',
        'bounce-domain': 'bounces.example.com',
      },
    });
    const token = await addDomain(server, 'example.com');
    const port = server.server.returns?.port ?? 0;
    const send = (email: string) => server.send({ To: [{ name: '', email }] }, { token });
    const arrived = (email: string) =>
      until(`mail for ${email} is there`, () => far.messages.find(({ rcpts }) => rcpts[0] === email));
    const spooled = async () =>
      (await readdir(join(folder, 'spool', 'returns'))).filter((name) => name.endsWith('.eml'));

    const heldId = await send('held@reader.example');
    const { from: heldPath } = await arrived('held@reader.example');
    const report = dsn([{ recipient: 'held@reader.example' }]);
    const replies: string[] = [];
    for (let i = 0; i < 20; i += 1) replies.push(await handIn(scope, port, heldPath, report));
    const flood = await Promise.all(Array.from({ length: 5 }, () => handIn(scope, port, heldPath, report)));
    const taken = [...replies, ...flood].filter((reply) => reply.startsWith('250'));
    const refused = [...replies, ...flood].filter((reply) => /^452 4\.3\.1 A report about this/.test(reply));
    expect(taken.length).toBeGreaterThan(0);
    expect(taken.length).toBeLessThan(5);
    expect(taken.length + refused.length).toBe(25);
    expect(await spooled()).toHaveLength(taken.length);

    const otherId = await send('other@reader.example');
    const { from: otherPath } = await arrived('other@reader.example');
    expect((await server.settled(otherId)).Status).toBe('Delivered');
    expect(await handIn(scope, port, otherPath, dsn([{ recipient: 'other@reader.example' }]))).toMatch(
      /^250/,
    );
    await until('the other is bounced', async () => (await server.statusOf(otherId)) === 'Bounced');
    await until('its report is removed', async () => (await spooled()).length === taken.length);

    answer();
    await until('the held one is bounced', async () => (await server.statusOf(heldId)) === 'Bounced', 90_000);
    await until('nothing waits', async () => (await spooled()).length === 0);
  });
});
