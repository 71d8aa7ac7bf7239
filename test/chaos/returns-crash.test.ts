/**
 * The server is killed while bounces come in. Counted at both ends: each report that was answered with 250 has made its
 * recipient bounced after the next start, each once, and nobody else's.
 */
import { afterEach, expect, it } from 'vitest';
import { freePort } from '../fakes/own-postfix.ts';
import { openLineClient } from '../fakes/smtp-line-client.ts';
import { startSmtpSink } from '../fakes/smtp-sink.ts';
import { dsn } from '../scenarios/returns-kit.ts';
import {
  addDomain,
  makeDataFolder,
  queueEmpty,
  type ServerProcess,
  startServerProcess,
  until,
} from './server-process.ts';

const RECIPIENTS = 48;
const cleanUps: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

interface Timeline {
  Items: { Event: string; Recipient: string }[];
  HasMore: boolean;
  NextCursor: string | null;
}

async function bouncedIn(server: ServerProcess, id: string): Promise<string[]> {
  const found: string[] = [];
  for (let after = ''; ; ) {
    const page = await server.api<Timeline>(`/email/${id}/events?Limit=100${after}`);
    found.push(...page.Items.filter(({ Event }) => Event === 'bounced').map(({ Recipient }) => Recipient));
    if (!page.HasMore) return found.sort();
    after = `&After=${page.NextCursor}`;
  }
}

it('a bounce that was taken is recorded, once, whenever the server dies', async () => {
  const far = await startSmtpSink();
  cleanUps.push(() => far.close());
  const folder = await makeDataFolder();
  cleanUps.push(() => folder.remove());
  const env = {
    POSTRIDER_ROUTE: `smtp://127.0.0.1:${far.port}`,
    POSTRIDER_RETURNS: `127.0.0.1:${await freePort()}`,
    POSTRIDER_BOUNCE_DOMAIN: 'bounces.example.com',
  };
  const port = Number(env.POSTRIDER_RETURNS.split(':')[1]);
  let server = await startServerProcess({ data: folder.path, env });
  cleanUps.push(() => server.kill());
  await addDomain(server);
  const emails = Array.from({ length: RECIPIENTS }, (_, i) => `r${i}@reader.example`);
  const { MessageID: id } = await server.api<{ MessageID: string }>('/email', {
    method: 'POST',
    body: {
      From: { name: '', email: 'sender@example.com' },
      To: emails.map((email) => ({ name: '', email })),
      Subject: 's',
      ContentType: 'Text',
      PlainContent: 'x',
    },
  });
  await queueEmpty(server);
  const back = new Map(far.messages.map(({ from, rcpts }) => [rcpts[0] ?? '', from]));
  expect(back.size).toBe(RECIPIENTS);

  const taken = new Set<string>();
  /** Hands reports in, one connection, until the server is gone. */
  const handIn = async (some: readonly string[]): Promise<void> => {
    const client = await openLineClient(port);
    await client.reply();
    await client.ask('EHLO peer.test');
    for (const email of some) {
      const reply = await client.transact({
        from: '',
        to: [back.get(email) ?? ''],
        data: dsn([{ recipient: email }]),
      });
      if (reply.startsWith('250')) taken.add(email);
      if (reply === '') return;
    }
    client.close();
  };
  for (const [round, enough] of [10, 22, 34].entries()) {
    const left = emails.filter((email) => !taken.has(email));
    const peers = [0, 1, 2].map((n) => handIn(left.filter((_, i) => i % 3 === n)).catch(() => undefined));
    await until(`${enough} were taken in round ${round}`, 20_000, () => taken.size >= enough);
    await server.kill();
    await Promise.all(peers);
    server = await startServerProcess({ data: folder.path, env });
  }
  const answered = [...taken].sort();
  expect(answered.length).toBeGreaterThanOrEqual(34);
  await until('everything taken was read', 30_000, async () => {
    const bounced = await bouncedIn(server, id);
    return answered.every((email) => bounced.includes(email));
  });
  const bounced = await bouncedIn(server, id);
  expect(bounced).toEqual([...new Set(bounced)]);
  expect(bounced.every((email) => back.has(email))).toBe(true);
  process.stdout.write(
    `  three deaths: ${answered.length} of ${RECIPIENTS} answered, ${bounced.length} recorded\n`,
  );
});
