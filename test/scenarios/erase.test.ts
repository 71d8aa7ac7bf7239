/** After a person was erased, no file of the data folder contains the address. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { createProgram } from '../../src/cli/program.ts';
import type { Terminal } from '../../src/cli/terminal.ts';
import { command } from './commands.ts';
import { addDomain, email, fileScope, startInstance } from './harness.ts';

const scope = fileScope();
const PERSON = 'Ann.Reader@example.net';

it('leaves no trace of the address in any file, and goes on stopping mail', async () => {
  const server = await startInstance(scope);
  await addDomain(server, 'example.com');
  for (let i = 0; i < 5; i++) {
    const id = await server.send({
      To: [
        { name: 'Ann', email: i % 2 === 0 ? PERSON : PERSON.toLowerCase() },
        { name: 'Bob', email: 'bob@example.org' },
      ],
      Subject: `For ${PERSON.toUpperCase()}`,
      HTMLContent: `<p>${PERSON} ${'text '.repeat(4000)}</p>`,
    });
    await server.settled(id);
  }
  await server.call('POST', '/suppressions', {
    body: { Domain: 'example.com', Items: [{ Email: PERSON, Note: `about ${PERSON}` }] },
  });
  const erased = await command(['erase', PERSON, '--yes', '--data', server.folder, '--json']);
  expect(erased).toMatchObject({ code: 0 });
  expect(JSON.parse(erased.stdout)).toMatchObject({ Messages: 5, Pending: 0 });
  expect((await server.call('POST', '/erase', { body: { Email: 'nonsense' } })).status).toBe(422);
  const misspelt = await command(['erase', `x${PERSON}`, '--yes', '--data', server.folder]);
  expect(misspelt.stdout).toContain('found in no message and no event');

  const refused = await server.call('POST', '/email', { body: email({ To: [{ email: PERSON }] }) });
  expect(refused.status).toBe(422);
  await server.stop();

  for (const name of await readdir(server.folder)) {
    const text = (await readFile(join(server.folder, name))).toString('latin1').toLowerCase();
    expect(text.includes(PERSON.toLowerCase()), name).toBe(false);
    if (name === 'postrider.db') expect(text).toContain('bob@example.org');
  }
});

it('asks a person at the terminal, and goes on where the answer is yes', async () => {
  const server = await startInstance(scope);
  await addDomain(server, 'example.com');
  const id = await server.send({ To: [{ email: PERSON }] });
  await server.settled(id);
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  for (const stream of [stdin, stderr]) Object.assign(stream, { isTTY: true });
  const [out, asked] = [text(stdout), text(stderr)];
  const terminal = { stdin, stdout, stderr, environment: {}, calledAs: () => 'postrider' };
  const done = createProgram(terminal as never as Terminal).run(['erase', PERSON, '--data', server.folder]);
  stdin.write('Yes\n');
  expect(await done).toBe(0);
  stdout.end();
  stderr.end();
  expect(await asked).toContain(`Erase all data of ${PERSON} permanently? Type yes to continue: `);
  expect(await out).toMatch(/masked in 1 message and \d+ events/);
  expect((await server.call('GET', `/email/${id}`)).text.toLowerCase()).not.toContain(PERSON.toLowerCase());
});
