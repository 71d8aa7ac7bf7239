/** GET /email/{MessageID} shows the content and the attachments of a message as long as they are kept. */
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { startSmtpSink } from '../fakes/smtp-sink.ts';
import { isOnPostgres } from './database-of-folder.ts';
import { addDomain, fileScope, startInstance, until } from './harness.ts';

const scope = fileScope();

describe('a message that is looked at', () => {
  it('has its contents and the facts of its files', async () => {
    const server = await startInstance(scope);
    const token = await addDomain(server, 'example.com');
    const id = await server.send(
      {
        HTMLContent: '<p>Grüße</p>',
        PlainContent: 'Greetings',
        Attachments: [{ Filename: 'täglich.txt', Type: 'text/plain', Content: 'aGVsbG8=' }],
      },
      { token },
    );
    const { json } = await server.call('GET', `/email/${id}`, { token });
    expect(json.HTMLContent).toContain('<p>Grüße</p>');
    expect(json.PlainContent).toContain('Greetings');
    expect(json.Attachments).toEqual([
      { Filename: 'täglich.txt', Type: 'text/plain', Disposition: 'attachment', ContentId: '', Size: 5 },
    ]);
  });

  it('has null in their place once they are gone', async () => {
    const sink = await startSmtpSink();
    scope.defer(() => sink.close());
    const server = await startInstance(scope, { settings: { route: `smtp://127.0.0.1:${sink.port}` } });
    const token = await addDomain(server, 'example.com');
    const id = await server.send({ KeepContent: false }, { token });
    await server.settled(id);
    const { json } = await server.call('GET', `/email/${id}`, { token });
    expect([json.HTMLContent, json.PlainContent, json.Attachments]).toEqual([null, null, null]);
    expect((await server.call('GET', `/email/${id}/raw`, { token })).status).toBe(410);
  });

  // A server of PostgreSQL has a clock of its own, with which such a start is refused.
  it.skipIf(isOnPostgres())('is not removed at once by a start whose clock may be wrong', async () => {
    const first = await startInstance(scope);
    const id = await first.send({}, { token: await addDomain(first, 'example.com') });
    await first.settled(id);
    await first.stop();
    const clock = { ...systemClock, now: () => systemClock.now() + 90 * 86_400_000 };
    const second = await startInstance(scope, { folder: first.folder, clock });
    await until('the clock is suspect', () =>
      second.logs.find(({ msg }) => msg.startsWith('by the clock, this server did not run for long')),
    );
    expect((await second.call('GET', `/email/${id}`)).status).toBe(200);
    expect((await second.call('GET', '/attention')).json.Items).toContainEqual(
      expect.objectContaining({
        Kind: 'server',
        Subject: 'clock',
        Message: expect.stringContaining('did not run for 2160 hours'),
      }),
    );
    expect(second.logs.some(({ msg }) => msg === 'what has been kept long enough was removed')).toBe(false);
  });
});
