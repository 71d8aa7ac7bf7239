/** A backup made beside a running server is that server again, somewhere else. */
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { command } from './commands.ts';
import {
  addDomain,
  email,
  fileScope,
  makeToken,
  request,
  startInstance,
  temporaryFolder,
} from './harness.ts';

const scope = fileScope();

it('comes back with its tokens, domains and messages, and holds back what waited', async () => {
  const folder = await temporaryFolder(scope);
  // Nothing listens on port 1, so what is accepted waits.
  const server = await startInstance(scope, { folder, settings: { route: 'smtp://127.0.0.1:1' } });
  await addDomain(server, 'example.com');
  const token = await makeToken(server, { Domains: ['example.com'], Preset: 'Full' });
  const sent = await server.call('POST', '/email', { body: email(), token });
  expect(sent.status).toBe(200);

  const file = join(await temporaryFolder(scope), 'copy');
  const made = await command(scope, ['backup', file, '--data', folder, '--json']);
  expect(made).toMatchObject({ code: 0 });
  expect(JSON.parse(made.stdout).Files).toEqual(['secret-key', 'node-id', 'admin-token', 'postrider.db']);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect((await command(scope, ['backup', file, '--data', folder])).stderr).toContain('exists already');
  await server.stop();

  const elsewhere = join(await temporaryFolder(scope), 'data');
  expect((await command(scope, ['restore', file, '--data', folder])).stderr).toContain('is not empty');
  const restored = await command(scope, ['restore', file, '--data', elsewhere, '--json']);
  expect(restored).toMatchObject({ code: 0 });
  expect(JSON.parse(restored.stdout)).toMatchObject({ Waiting: 1, Held: true });

  const again = await startInstance(scope, { folder: elsewhere, settings: { route: 'smtp://127.0.0.1:1' } });
  const message = await request('GET', `${again.server.localUrl}/api/v1/email/${sent.json.MessageID}`, {
    token,
  });
  expect(message.status).toBe(200);
  expect((await again.call('GET', '/domains/example.com')).json.Status).toBe('Verified');
  expect(await readFile(join(elsewhere, 'admin-token'), 'utf8')).toBe(
    await readFile(join(folder, 'admin-token'), 'utf8'),
  );
});

it('works without a server, and refuses what was altered, cut off or is no backup', async () => {
  const folder = await temporaryFolder(scope);
  await (await startInstance(scope, { folder })).stop();
  const file = join(await temporaryFolder(scope), 'copy');
  expect(await command(scope, ['backup', file, '--data', folder])).toMatchObject({ code: 0 });
  const whole = await readFile(file);
  const refusal = async (bytes: Uint8Array) => {
    const bad = join(await temporaryFolder(scope), 'bad');
    await writeFile(bad, bytes);
    const data = await temporaryFolder(scope);
    const result = await command(scope, ['restore', bad, '--data', data]);
    expect(result.code).toBe(1);
    return result.stderr;
  };
  const altered = Buffer.from(whole);
  altered[whole.length - 1000] = ~(altered[whole.length - 1000] ?? 0) & 0xff;
  expect(await refusal(altered)).toContain('a checksum does not match');
  expect(await refusal(whole.subarray(0, whole.length - 1))).toContain('is cut off');
  expect(await refusal(Buffer.from('hello'))).toContain('is not a backup of postrider');
  const newer = Buffer.from(whole.toString('latin1').replace(/"schema":\d+/, '"schema":9999'), 'latin1');
  expect(await refusal(newer)).toContain('made by a newer postrider');
});
