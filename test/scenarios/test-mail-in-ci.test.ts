/** docs/howto/test-mail-in-ci.md: its shell blocks, one after another in one shell, beside a server of `dev`. */
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { fileScope, temporaryFolder } from './harness.ts';
import { codeBlocks, howToPage, inShell, PROJECT, startDev } from './how-to-page.ts';

const scope = fileScope();
const MARK = '--- next block ---';
let outputs: string[] = [];

beforeAll(async () => {
  const server = await startDev(scope);
  const api = server.api.replace(/\/$/, '');
  const work = await temporaryFolder(scope);
  const page = await howToPage('test-mail-in-ci');
  const [testFile = '', withServer = ''] = codeBlocks(page, 'js');
  // Installed, the package has its client built; here it stands in the sources.
  const client = new URL('../../src/client/index.ts', import.meta.url).href;
  await writeFile(join(work, 'sign-up.test.mjs'), testFile.replace("'postrider/client'", `'${client}'`));
  const testing = new URL('../../src/client/testing.ts', import.meta.url).href;
  await writeFile(
    join(work, 'with-server.test.mjs'),
    withServer.replace("'postrider/testing'", `'${testing}'`),
  );
  // Installed in the project, as the page says.
  await mkdir(join(work, 'node_modules'));
  await symlink(PROJECT, join(work, 'node_modules/postrider'));
  const script = codeBlocks(page, 'sh')
    .join(`echo '${MARK}'\n`)
    // The server runs already, on a port of its own.
    .replace(/^\.\/bin\/postrider dev .*$/m, '')
    .replace('api=http://127.0.0.1:8025/api/v1 ', `api=${api} `)
    .replaceAll('--data postrider-data', '--data "$DATA"')
    .replaceAll('postrider-data/', '"$DATA"/')
    .replaceAll('./bin/postrider', `${PROJECT}bin/postrider`);
  const path = `${dirname(process.execPath)}:${process.env.PATH ?? ''}`;
  const { stdout } = await inShell(script, { cwd: work, env: { PATH: path, DATA: server.folder } });
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
  });

  it('run the test with a server of its own', () => {
    expect(outputs[7]).toMatch(/pass 1\b/);
    expect(outputs[7]).toMatch(/fail 0\b/);
    expect(outputs).toHaveLength(8);
  });
});
