/**
 * The returns port line by line against peers that mean harm or know no better: smuggling, injection, bombs, transactions
 * that change their mind. Counted at the spool: what got a 250 lies there or was read, and nothing else.
 */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { type LineClient, openLineClient } from '../fakes/smtp-line-client.ts';
import { fileScope, type Instance, startInstance, temporaryFolder, until } from '../scenarios/harness.ts';

const scope = fileScope();
let server: Instance;
let folder: string;

beforeAll(async () => {
  folder = await temporaryFolder(scope);
  server = await startInstance(scope, {
    folder,
    settings: { returns: '127.0.0.1:0', 'bounce-domain': 'bounces.example.com' },
  });
});

async function connected(): Promise<LineClient> {
  const client = await openLineClient(server.server.returns?.port ?? 0);
  scope.defer(() => client.close());
  expect(await client.reply()).toMatch(/^220 /);
  expect(await client.ask('EHLO peer.test')).toContain('250');
  return client;
}

const kept = async (name: string) =>
  (await readdir(join(folder, 'spool', 'returns', name))).filter((file) => file.endsWith('.eml')).length;

async function upToData(client: LineClient, to = 'abuse@bounces.example.com'): Promise<void> {
  expect(await client.ask('MAIL FROM:<a@reader.example>')).toMatch(/^250/);
  expect(await client.ask(`RCPT TO:<${to}>`)).toMatch(/^250/);
  expect(await client.ask('DATA')).toMatch(/^354/);
}

describe('the returns port', () => {
  it('takes lines far beyond 998 octets and dots as they are, once', async () => {
    const before = await kept('operator');
    const client = await connected();
    await upToData(client);
    client.send(`From: a@reader.example\r\nSubject: x\r\n\r\n${'y'.repeat(20_000)}\r\n..dots\r\n.\r\n`);
    expect(await client.reply()).toMatch(/^250 2\.6\.0 Kept as [0-9a-f-]{36}$/);
    client.close();
    await until('it was read', async () => (await kept('operator')) === before + 1);
  });

  it('refuses what ends lines in other ways, and takes no second message out of it', async () => {
    const before = await kept('operator');
    for (const smuggled of ['\n.\r\n', '\r\n.\n', '\r.\r\n', '\n.\n']) {
      const client = await connected();
      await upToData(client);
      client.send(
        `Subject: x\r\n\r\nx${smuggled}MAIL FROM:<b@reader.example>\r\nRCPT TO:<abuse@bounces.example.com>\r\nDATA\r\nSubject: smuggled\r\n\r\n.\r\n`,
      );
      expect(await client.reply(), JSON.stringify(smuggled)).toMatch(/^5/);
      client.close();
    }
    expect(await kept('operator')).toBe(before);
  });

  it('forgets what was sent in front of the handshake', async () => {
    const client = await connected();
    client.send('STARTTLS\r\nMAIL FROM:<>\r\nRCPT TO:<abuse@bounces.example.com>\r\n');
    expect(await client.reply()).toMatch(/^5/);
    await client.closed();
  });

  it('takes recipients of this transaction alone', async () => {
    const before = [await kept('operator'), await kept('reports')];
    const client = await connected();
    expect(await client.ask('MAIL FROM:<a@reader.example>')).toMatch(/^250/);
    expect(await client.ask('RCPT TO:<dmarc@bounces.example.com>')).toMatch(/^250/);
    expect(await client.ask('RSET')).toMatch(/^250/);
    await upToData(client);
    client.send('Subject: x\r\n\r\n.\r\n');
    expect(await client.reply()).toMatch(/^250/);
    await until('it was read', async () => (await kept('operator')) === (before[0] ?? 0) + 1);
    expect(await kept('reports')).toBe(before[1]);
  });

  it('refuses more than two mebibytes, and serves on', async () => {
    const client = await connected();
    await upToData(client);
    const line = `${'z'.repeat(998)}\r\n`;
    for (let i = 0; i < 2200; i += 1) client.send(line);
    client.send('.\r\n');
    expect(await client.reply()).toMatch(/^552 /);
    expect(await client.ask('NOOP')).toMatch(/^250/);
    client.close();
  });

  it('reads a bomb of nested messages and serves on', async () => {
    const before = await kept('unattributed');
    const client = await connected();
    await upToData(client, 'fbl@bounces.example.com');
    client.send(`${'Content-Type: message/rfc822\r\n\r\n'.repeat(1000)}.\r\n`);
    expect(await client.reply()).toMatch(/^250/);
    await until('it is kept for a person', async () => (await kept('unattributed')) === before + 1);
    client.close();
  });

  it('lets go of whoever guesses addresses', async () => {
    const client = await connected();
    expect(await client.ask('MAIL FROM:<>')).toMatch(/^250/);
    let last = '';
    for (let i = 0; i < 40 && !last.startsWith('421'); i += 1) {
      last = await client.ask(`RCPT TO:<b-guess${i}@bounces.example.com>`);
      if (last === '') break;
      expect(last).toMatch(/^(550 5\.1\.1|421)/);
    }
    await client.closed();
  });
});
