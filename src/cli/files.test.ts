import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterAll, describe, expect, it } from 'vitest';
import { readText, refuseExisting, writeText } from './files.ts';
import { createProgram } from './program.ts';
import { CommandError, type Terminal } from './terminal.ts';

const folder = mkdtempSync(join(tmpdir(), 'files-'));
afterAll(() => rmSync(folder, { recursive: true }));

describe('a file of a command', () => {
  it('is refused if it has a content, unless that is forced', async () => {
    const file = join(folder, 'full');
    writeFileSync(file, 'kept');
    await expect(refuseExisting(file)).rejects.toThrow(
      `${file} exists already; choose another name, or replace it with --force`,
    );
    await expect(refuseExisting(file)).rejects.toThrow(CommandError);
    await refuseExisting(file, true);
  });

  it('may be missing, empty, or a device', async () => {
    const empty = join(folder, 'empty');
    writeFileSync(empty, '');
    for (const file of [empty, join(folder, 'missing'), '/dev/null']) await refuseExisting(file);
  });

  it('is named with the reason if it cannot be written', async () => {
    await expect(writeText(join(folder, 'none', 'x'), '')).rejects.toThrow(
      /x cannot be written: there is no/,
    );
  });

  it('is not the text itself, which is said to who gives that', async () => {
    await expect(readText('Hello world')).rejects.toThrow(
      'Hello world cannot be read: there is no such file or folder. Give the name of a file, or - to read',
    );
  });

  it('is not the plan that simulate reads, nor any other page', async () => {
    const plan = join(folder, 'plan.json');
    writeFileSync(plan, '{"mail": [{"provider": "google", "recipients": 10}]}');
    const before = readFileSync(plan, 'utf8');
    const [stdout, stderr] = [new PassThrough(), new PassThrough()];
    const said = text(stderr);
    const terminal = {
      stdout,
      stderr,
      stdin: new PassThrough(),
      environment: {},
      calledAs: () => 'postrider',
    };
    const code = await createProgram(terminal as never as Terminal).run(['simulate', plan, '--html', plan]);
    stderr.end();
    expect([code, await said]).toEqual([1, expect.stringContaining('exists already')]);
    expect(readFileSync(plan, 'utf8')).toBe(before);
  });
});
