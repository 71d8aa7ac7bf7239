/** The first ten minutes of somebody new: one command, a curl to paste, mail to look at, a clean end. */
import { execFile } from 'node:child_process';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { command, hasCurl } from './commands.ts';
import { fileScope, request, temporaryFolder, until } from './harness.ts';
import { type DevServer, startDev } from './how-to-page.ts';

const run = promisify(execFile);
const UUID = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}';
const scope = fileScope();

/** Listening sockets of a process and its children, as `address:port` in the kernel's hexadecimal. */
async function listeningAddresses(pid: number): Promise<string[]> {
  const { stdout } = await run('bash', [
    '-c',
    `for p in ${pid} $(pgrep -P ${pid}); do readlink /proc/$p/fd/* 2>/dev/null; done | sed -n 's/^socket:\\[\\(.*\\)\\]$/\\1/p'`,
  ]);
  const inodes = new Set(stdout.split('\n').filter(Boolean));
  const found: string[] = [];
  for (const table of ['tcp', 'tcp6', 'udp', 'udp6']) {
    const text = await readFile(`/proc/${pid}/net/${table}`, 'utf8').catch(() => '');
    for (const line of text.split('\n').slice(1)) {
      const fields = line.trim().split(/\s+/);
      const isListening = table.startsWith('tcp') ? fields[3] === '0A' : true;
      if (isListening && inodes.has(fields[9] ?? '')) found.push(`${table} ${fields[1]}`);
    }
  }
  return found;
}

describe.skipIf(!hasCurl('the first ten minutes'))('the first ten minutes', () => {
  let folder = '';
  let first: DevServer;
  let messageId = '';

  beforeAll(async () => {
    folder = await temporaryFolder(scope);
    first = await startDev(scope, folder);
  });

  it('is up and prints URL, token and what to do next', () => {
    expect(first.api).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/api\/v1\/$/);
    expect(first.token.split('.')).toHaveLength(3);
    expect(first.banner).toContain('nothing leaves this machine');
    expect(first.banner).toMatch(/\.\/bin\/postrider --data \S+ messages\n/);
  });

  it('answers the printed curl, pasted into a shell, with exactly one MessageID', async () => {
    const curl = /^curl [\s\S]*?'\n\n/m.exec(first.banner)?.[0] ?? '';
    const { stdout, stderr } = await run('bash', ['-c', curl]);
    expect(stdout).toMatch(new RegExp(`^\\{"MessageID":"${UUID}"\\}$`));
    expect(stderr).toBe('');
    messageId = JSON.parse(stdout).MessageID;
  });

  it('shows the captured mail through the API', async () => {
    const { api, token } = first;
    const list = await until('the mail is captured', async () => {
      const answer = await request('GET', `${api}sandbox/messages`, { token });
      return answer.json.Items.length === 1 ? answer.json.Items : null;
    });
    expect(list[0]).toMatchObject({
      MessageID: messageId,
      EnvelopeTo: 'you@example.net',
      Subject: 'It works',
      From: { Name: 'Postrider', Email: 'hello@example.com' },
    });
    const detail = await request('GET', `${api}sandbox/messages/${list[0].ID}`, { token });
    expect(detail.json.HTMLContent).toContain('<h1>It works</h1>');
  });

  it('shows it through the printed commands, beside the running server', async () => {
    const messages = await command(['messages', '--data', folder]);
    expect(messages.code).toBe(0);
    expect(messages.stdout).toContain(messageId);
    expect(messages.stdout).toContain('Captured');
    const message = await command(['message', messageId, '--data', folder]);
    expect(message.code).toBe(0);
    expect(message.stdout).toContain('you@example.net');
    expect(message.stdout).toContain('delivered');
    const asJson = await command(['message', messageId, '--data', folder, '--json']);
    expect(JSON.parse(asJson.stdout)).toMatchObject({ MessageID: messageId, Status: 'Delivered' });
    const raw = await command(['message', messageId, '--raw', '--data', folder]);
    expect(raw.stdout).toContain('Subject: It works\r\n');
  });

  it('keeps its token and keys from other users of the machine', async () => {
    for (const file of ['admin-token', 'secret-key']) {
      expect((await stat(join(folder, file))).mode & 0o777).toBe(0o600);
    }
    expect((await stat(folder)).mode & 0o077).toBe(0);
  });

  it('listens on loopback only', async () => {
    const addresses = await listeningAddresses(first.dev.child.pid ?? 0);
    const tcp = addresses.filter((address) => address.startsWith('tcp'));
    expect(tcp.length).toBeGreaterThan(0);
    for (const address of tcp) expect(address).toMatch(/^tcp 0100007F:|^tcp6 0{24}01000000:/);
  });

  it('ends cleanly on Ctrl-C', async () => {
    first.dev.child.kill('SIGINT');
    const { code, stderr } = await first.dev.ended;
    expect(code).toBe(0);
    expect(stderr).toBe('');
  });

  it('keeps token and messages over a restart', async () => {
    const second = await startDev(scope, folder);
    expect(second.token).toBe(first.token);
    const { api, token } = second;
    const answer = await request('GET', `${api}email/${messageId}`, { token });
    expect(answer.json).toMatchObject({ MessageID: messageId, Status: 'Delivered' });
    expect((await request('GET', `${api}sandbox/messages`, { token })).json.Items).toHaveLength(1);
    second.dev.child.kill('SIGTERM');
    expect((await second.dev.ended).code).toBe(0);
  });

  it('refuses to listen beyond loopback', async () => {
    const dev = await command(['dev', '--http', '0.0.0.0:0', '--data', await temporaryFolder(scope)]);
    expect(dev.code).toBe(2);
    expect(dev.stderr).toMatch(/loopback/);
  });
});
