/**
 * docs/howto/send-over-http.md as a reader follows it: its commands make the token, and the program of each language sends, sends
 * nothing a second time, and shows what was refused. A language that is not installed is skipped under its name.
 */
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { fileScope, temporaryFolder } from './harness.ts';
import { besideServer, codeBlocks, type DevServer, howToPage, inShell, startDev } from './how-to-page.ts';

const run = promisify(execFile);
const scope = fileScope();
let server: DevServer;
let page: string;
let folder: string;
let env: Record<string, string>;

beforeAll(async () => {
  server = await startDev(scope);
  folder = await temporaryFolder(scope);
  page = (await howToPage('send-over-http')).replaceAll('http://127.0.0.1:8025', new URL(server.api).origin);
  const [block = ''] = codeBlocks(page, 'sh');
  const script = `${besideServer(block)}\nprintf '%s\\n' "$POSTRIDER_URL" "$POSTRIDER_TOKEN"`;
  const { stdout } = await inShell(script, { env: { DATA: server.folder } });
  const [POSTRIDER_URL = '', POSTRIDER_TOKEN = ''] = stdout.split('\n');
  env = { POSTRIDER_URL, POSTRIDER_TOKEN };
});

const LANGUAGES = [
  ['python', 'python3', 'send.py', []],
  ['php', 'php', 'send.php', []],
  ['ruby', 'ruby', 'send.rb', []],
  ['go', 'go', 'main.go', ['run']],
] as const;

describe.each(LANGUAGES)('the program in %s', (language, command, name, words) => {
  it('sends once for one key, and says why another is refused', async ({ skip }) => {
    const installed = await run('which', [command]).then(
      () => true,
      () => false,
    );
    if (!installed) {
      process.stderr.write(`skipped: ${command} is not installed here\n`);
      skip(`${command} is not installed`);
    }
    const file = join(folder, name);
    const program = codeBlocks(page, language)[0] ?? '';
    expect(program).toMatch(/order-100\d/);
    await writeFile(
      file,
      program.replace(/order-100\d/, `order-${language}`).replace('Your order', language),
    );
    // The cache of Go and what it builds want a place that may hold programs.
    const start = (more: Record<string, string> = {}) =>
      run(command, [...words, file], { env: { ...process.env, TMPDIR: '/tmp', ...env, ...more } });
    const first = (await start()).stdout;
    expect(first).toMatch(/^[0-9a-f-]{36}\n$/);
    expect((await start()).stdout).toBe(first);
    const sent = await fetch(`${server.api}email?Subject=${language}`, {
      headers: { authorization: `Bearer ${server.token}` },
    });
    expect(await sent.json()).toMatchObject({ Items: [{ MessageID: first.trim(), Subject: language }] });
    await expect(start({ POSTRIDER_TOKEN: 'wrong' })).rejects.toMatchObject({
      stderr: expect.stringMatching(/401.*token-invalid/),
    });
  });
});
