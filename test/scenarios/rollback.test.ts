/** An upgrade from a released version and the way back, with the commands of docs/howto/upgrade.md. */
import { existsSync, readdirSync } from 'node:fs';
import { expect, it } from 'vitest';
import { schemaOf } from '../../src/store/sqlite/copy.ts';
import { unpackReleased } from '../fakes/released-data.ts';
import { command } from './commands.ts';
import { email, fileScope, startInstance, temporaryFolder } from './harness.ts';
import { codeBlocks, howToPage } from './how-to-page.ts';

const scope = fileScope();
const settings = { route: 'smtp://127.0.0.1:1' };

/** The command of the page that begins with these words, for a data folder. */
async function fromPage(words: string, data: string): Promise<string[]> {
  const blocks = codeBlocks(await howToPage('upgrade'), 'sh').join('\n');
  const line = blocks.split('\n').find((each) => each.startsWith(`./bin/postrider ${words}`)) ?? '';
  expect(line).not.toBe('');
  return line.replace('/var/lib/postrider', data).split(' ').slice(1);
}

it('goes back to the version before, and says what is lost', async () => {
  const data = await temporaryFolder(scope);
  const database = unpackReleased('0.1.0', data);
  const server = await startInstance(scope, { folder: data, settings });
  expect((await server.call('GET', '/domains/example.com')).json.Status).toBe('Verified');
  const sent = await server.call('POST', '/email', {
    body: email({ From: { name: 'App', email: 'app@example.com' } }),
  });
  expect(sent.status).toBe(200);
  const rollback = await fromPage('rollback', data);
  expect(await command([...rollback, '--yes'])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('is in use by another postrider. Stop that one first.'),
  });
  await server.stop();

  const asked = await command(rollback);
  expect(asked.code).toBe(2);
  expect(asked.stderr).toContain(
    'Messages accepted since: 1; recipients of these who wait and would get nothing: 1.',
  );
  expect(asked.stderr).toContain('repeat the command with --yes');
  expect(schemaOf(database)).toBeGreaterThan(39);

  const done = await command([...rollback, '--yes', '--json']);
  expect(done.code, done.stderr).toBe(0);
  const answer = JSON.parse(done.stdout);
  expect(answer).toMatchObject({ Schema: 39, Accepted: 1, Lost: 1, Waiting: 3, Held: true });
  expect(schemaOf(database)).toBe(39);
  expect(existsSync(answer.Newer)).toBe(true);
  expect(readdirSync(data).some((name) => name.includes('.before-'))).toBe(false);
  expect((await command([...rollback, '--yes'])).stderr).toContain(
    'there is no copy from before an upgrade. Start the older version: where the newer one did not change the database, it runs. If it refuses, restore a backup',
  );
});
