/**
 * The server is killed around a notice to the sender: between the bounce and the notice, and right after the notice was
 * committed. Counted at the sender's mail server: one notice, once, with the null sender.
 */
import { afterEach, expect, it } from 'vitest';
import { freePort } from '../fakes/own-postfix.ts';
import { openLineClient } from '../fakes/smtp-line-client.ts';
import { startSmtpSink } from '../fakes/smtp-sink.ts';
import {
  addDomain,
  makeDataFolder,
  metric,
  queueEmpty,
  startServerProcess,
  until,
} from './server-process.ts';

const cleanUps: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

it.each([
  // The first commit is the message, the second its notice.
  [
    'after the commit of the notice',
    { POSTRIDER_FAILPOINT: 'after-commit:2', POSTRIDER_NOTICE_WAIT: '100ms' },
  ],
  ['between the bounce and the notice', { POSTRIDER_NOTICE_WAIT: '30m' }],
])('a notice goes out once where the server dies %s', async (_when, first) => {
  const far = await startSmtpSink({
    refuse: (recipient) => (recipient.startsWith('gone') ? '550 5.1.1 No such user' : null),
  });
  cleanUps.push(() => far.close());
  const folder = await makeDataFolder();
  cleanUps.push(() => folder.remove());
  const port = await freePort();
  const env = { POSTRIDER_ROUTE: `smtp://127.0.0.1:${far.port}`, POSTRIDER_SUBMISSION: `127.0.0.1:${port}` };
  let server = await startServerProcess({ data: folder.path, env: { ...env, ...first } });
  cleanUps.push(() => server.kill());
  await addDomain(server);
  const client = await openLineClient(port);
  await client.reply();
  await client.hello();
  expect(await client.login('token', server.token)).toMatch(/^235 /);
  const to = ['gone1@reader.example', 'gone2@reader.example'];
  const data = 'From: ann@example.com\r\nSubject: Offer\r\n\r\nx\r\n';
  expect(await client.transact({ from: 'ann@example.com', to, data })).toMatch(/^250 /);
  client.close();
  if ('POSTRIDER_FAILPOINT' in first) expect((await server.exited).signal).toBe('SIGKILL');
  else {
    await queueEmpty(server);
    // Outcomes ride with the next commit: they are there once the queue is empty, and the kill leaves them.
    await server.kill();
  }
  expect(far.messages).toEqual([]);

  server = await startServerProcess({ data: folder.path, env: { ...env, POSTRIDER_NOTICE_WAIT: '100ms' } });
  await until('the notice arrives', 30_000, () => far.messages.length > 0);
  await queueEmpty(server);
  // A further start looks again at what is due.
  await server.kill();
  server = await startServerProcess({ data: folder.path, env: { ...env, POSTRIDER_NOTICE_WAIT: '100ms' } });
  await queueEmpty(server);
  expect(await metric(server, 'postrider_notices_total{result="written"}')).toBe(0);
  const { Items } = await server.api<{ Items: unknown[] }>('/email?Tag=notice');
  expect(Items).toHaveLength(1);
  expect(far.messages).toHaveLength(1);
  const [notice] = far.messages;
  expect(notice).toMatchObject({ from: '', rcpts: ['ann@example.com'] });
  const text = notice?.data.toString('latin1') ?? '';
  for (const address of to) expect(text.split(`Final-Recipient: rfc822;${address}`)).toHaveLength(2);
});
