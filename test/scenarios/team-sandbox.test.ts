/** docs/howto/team-sandbox.md: its settings, a server of `serve` with them, and its commands in one shell. */
import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../fakes/own-postfix.ts';
import { createTestCa } from '../fakes/test-certificates.ts';
import { command, hasCurl, startCommand } from './commands.ts';
import { fileScope, request, temporaryFolder, until } from './harness.ts';
import { codeBlocks, howToPage, inShell, PROJECT } from './how-to-page.ts';

const scope = fileScope();
const MARK = '--- next block ---';
const HOST = 'mail.example.com';

describe.skipIf(!hasCurl('the sandbox of a team'))('the sandbox of a team', () => {
  let outputs: string[] = [];
  let url: string;
  let folder: string;

  beforeAll(async () => {
    folder = await temporaryFolder(scope);
    const work = await temporaryFolder(scope);
    const ca = createTestCa();
    const made = ca.issue({ names: [HOST] });
    const files = { cert: join(work, 'cert.pem'), key: join(work, 'key.pem') };
    await Promise.all([writeFile(files.cert, made.cert), writeFile(files.key, made.key)]);
    const [http, submission] = [await freePort(), await freePort()];
    const page = await howToPage('team-sandbox');
    const settings = (codeBlocks(page, 'json')[0] ?? '')
      .replaceAll(/"\/etc\/letsencrypt\S*\/fullchain\.pem"/g, JSON.stringify(files.cert))
      .replaceAll(/"\/etc\/letsencrypt\S*\/privkey\.pem"/g, JSON.stringify(files.key))
      .replace('0.0.0.0:443', `0.0.0.0:${http}`)
      .replace('0.0.0.0:587', `127.0.0.1:${submission}`);
    await writeFile(join(folder, 'postrider.json'), settings);
    const server = startCommand(scope, ['serve', '--data', folder]);
    url = `http://127.0.0.1:${http}`;
    await until('the server answers', async () => {
      if (server.child.exitCode !== null) throw new Error(server.stderr());
      return fetch(`${url}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      );
    });
    // The name leads to this machine, and its authority is trusted.
    await writeFile(join(work, 'ca.pem'), ca.cert);
    const names = [http, submission].map((port) => `resolve = "${HOST}:${port}:127.0.0.1"\n`).join('');
    await writeFile(join(work, '.curlrc'), `cacert = "${join(work, 'ca.pem')}"\n${names}`);
    const script = codeBlocks(page, 'sh')
      .join(`echo '${MARK}'\n`)
      .replaceAll('/var/lib/postrider', folder)
      .replaceAll(/^postrider /gm, `${PROJECT}bin/postrider `)
      .replace(`https://${HOST}/`, `https://${HOST}:${http}/`)
      .replace(`${HOST}:587`, `${HOST}:${submission}`);
    const path = `${dirname(process.execPath)}:${process.env.PATH ?? ''}`;
    const { stdout } = await inShell(script, { cwd: work, env: { PATH: path, HOME: work, CURL_HOME: work } });
    outputs = stdout.split(`${MARK}\n`);
  });

  it('takes mail of a project by HTTP and SMTP, and its tests wait for it', async () => {
    expect(outputs[2]).toMatch(/^\{"MessageID":"[0-9a-f-]{36}"\}\{.*"Codes":\["482913"\]/);
    const token = (await readFile(join(folder, 'admin-token'), 'utf8')).trim();
    const list = () => request('GET', `${url}/api/v1/sandbox/messages`, { token });
    const subjects = await until('both are captured', async () => {
      const all = (await list()).json.Items.map(({ Subject }: { Subject: string }) => Subject);
      return all.length === 2 ? all : null;
    });
    expect(subjects).toEqual(['By SMTP', 'Your code']);
  });

  it('shows people the mail of their projects only', async () => {
    const Password = (outputs[1] ?? '').trim().split('\n').at(-1) ?? '';
    const other = await command(
      [
        'user',
        'add',
        'bob@example.com',
        '--role',
        'member',
        '--domain',
        'news.example',
        '--data',
        folder,
        '--preset',
        'Full',
      ],
      {},
      'correct horse battery\n',
    );
    expect(other.code, other.stderr).toBe(0);
    expect(await seenBy('ada@example.com', Password)).toHaveLength(2);
    expect(await seenBy('bob@example.com', 'correct horse battery')).toEqual([]);
    expect((await request('GET', `${url}/api/v1/sandbox/messages`)).status).toBe(401);
  });

  async function seenBy(Email: string, Password: string): Promise<unknown[]> {
    const headers = { origin: url, 'x-postrider-dashboard': '1' };
    const signedIn = await request('POST', `${url}/api/v1/session`, { headers, body: { Email, Password } });
    expect(signedIn.status, signedIn.text).toBe(200);
    const cookie = signedIn.headers.getSetCookie().join().split(';')[0] ?? '';
    const seen = await request('GET', `${url}/api/v1/sandbox/messages`, { headers: { ...headers, cookie } });
    return seen.json.Items;
  }
});
