/** docs/howto/test-mail-in-ci.md: its shell blocks, one after another in one shell, beside a server of `dev`. */
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { startCommand } from './commands.ts';
import { fileScope, temporaryFolder, until } from './harness.ts';

const run = promisify(execFile);
const PROJECT = fileURLToPath(new URL('../..', import.meta.url));
const scope = fileScope();
const MARK = '--- next block ---';
let outputs: string[] = [];

beforeAll(async () => {
  const folder = await temporaryFolder(scope);
  const work = await temporaryFolder(scope);
  const dev = startCommand(scope, ['dev', '--http', '127.0.0.1:0', '--data', folder]);
  const banner = await until('the banner is complete', () =>
    dev.stdout().includes('Ctrl-C stops') ? dev.stdout() : null,
  );
  const api = (/API\s+(http\S+)/.exec(banner)?.[1] ?? '').replace(/\/$/, '');
  const page = await readFile(join(PROJECT, 'docs/howto/test-mail-in-ci.md'), 'utf8');
  const [, testFile = ''] = /```js\n([\s\S]*?)```/.exec(page) ?? [];
  // Installed, the package has its client built; here it stands in the sources.
  const client = new URL('../../src/client/index.ts', import.meta.url).href;
  await writeFile(join(work, 'sign-up.test.mjs'), testFile.replace("'postrider/client'", `'${client}'`));
  const script = [...page.matchAll(/```sh\n([\s\S]*?)```/g)]
    .map(([, block = '']) => block)
    .join(`echo '${MARK}'\n`)
    // The server runs already, on a port of its own.
    .replace(/^\.\/bin\/postrider dev .*$/m, '')
    .replace('api=http://127.0.0.1:8025/api/v1 ', `api=${api} `)
    .replaceAll('--data postrider-data', '--data "$DATA"')
    .replaceAll('postrider-data/', '"$DATA"/')
    .replaceAll('./bin/postrider', `${PROJECT}bin/postrider`);
  const path = `${dirname(process.execPath)}:${process.env.PATH ?? ''}`;
  const { stdout } = await run('bash', ['--norc', '-ec', script], {
    cwd: work,
    env: { PATH: path, DATA: folder, NO_COLOR: '1' },
  });
  outputs = stdout.split(`${MARK}\n`);
}, 90_000);

describe('the pasted commands', () => {
  it('send a mail and wait for its code', () => {
    expect(JSON.parse(outputs[1] ?? '').MessageID).toMatch(/^[0-9a-f-]{36}$/);
    const [answer = '', code] = (outputs[2] ?? '').trim().split(/\n(?=\d+$)/);
    expect([JSON.parse(answer.replace(/482913$/, '')).Codes, code ?? answer.slice(-6)]).toEqual([
      ['482913'],
      '482913',
    ]);
  });

  it('run the test file', () => {
    expect(outputs[3]).toMatch(/pass 2\b/);
    expect(outputs[3]).toMatch(/fail 0\b/);
  });

  it('play the faults they ask for', () => {
    expect(outputs[4]).toMatch(/Defer/);
    expect(outputs[4]).toMatch(/Bounce/);
    expect(outputs[5]).toContain('"bounced"');
    expect(outputs[5]).toContain('no such user');
  });

  it('clean up', () => {
    expect(outputs[6]).toMatch(/Removed \d+\./);
    expect(outputs[6]).toMatch(/Ended \d+\./);
    expect(outputs).toHaveLength(7);
  });
});
