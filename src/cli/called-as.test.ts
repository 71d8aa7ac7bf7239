import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { calledAs, quoted, withCommands } from './called-as.ts';

let root = '';
let launcher = '';

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'called-as-'));
  launcher = join(root, 'clone', 'bin', 'postrider');
  await mkdir(join(root, 'clone', 'bin'), { recursive: true });
  await mkdir(join(root, 'usr', 'bin'), { recursive: true });
  await mkdir(join(root, 'other'));
  await writeFile(launcher, '');
  await writeFile(join(root, 'other', 'postrider'), 'another program');
  await symlink(launcher, join(root, 'usr', 'bin', 'postrider'));
});

afterAll(() => rm(root, { recursive: true }));

it('is the path from where the user stands, or the whole path from elsewhere', () => {
  const path = [join(root, 'other'), join(root, 'nowhere'), ''].join(':');
  expect(calledAs({ path, launcher, cwd: join(root, 'clone') })).toBe('./bin/postrider');
  expect(calledAs({ path, launcher, cwd: root })).toBe('./clone/bin/postrider');
  expect(calledAs({ path, launcher, cwd: join(root, 'other') })).toBe(launcher);
  expect(calledAs({ path: undefined, launcher, cwd: '/' })).toBe(launcher);
});

it('is the bare name where PATH leads to this program', () => {
  const path = [join(root, 'other'), join(root, 'usr', 'bin')].join(':');
  expect(calledAs({ path, launcher, cwd: join(root, 'clone') })).toBe('postrider');
});

it('is npx and the name in a project that has it as a package', async () => {
  const project = join(root, 'project');
  const commands = join(project, 'node_modules', '.bin');
  await mkdir(commands, { recursive: true });
  await symlink(launcher, join(commands, 'postrider'));
  expect(calledAs({ path: commands, launcher, cwd: project })).toBe('npx postrider');
  expect(calledAs({ path: commands, launcher, cwd: root })).toBe('./clone/bin/postrider');
  expect(calledAs({ path: join(root, 'usr', 'bin'), launcher, cwd: project })).toBe('postrider');
});

it('is one word of a shell', () => {
  expect(quoted('/srv/data-1')).toBe('/srv/data-1');
  expect(quoted("/srv/it's mine")).toBe("'/srv/it'\\''s mine'");
});

it('stands before each command that the server names', () => {
  const command = (words: string) => `./bin/postrider ${words} --data x`;
  const said = (text: string) => withCommands(text, command);
  expect(said('Held: not verified (Failed); to see why, run: postrider domain verify a.example (3)')).toBe(
    'Held: not verified (Failed); to see why, run: ./bin/postrider domain verify a.example --data x (3)',
  );
  expect(said('again: postrider suppress remove a+b@example.net --domain a.example')).toBe(
    'again: ./bin/postrider suppress remove a+b@example.net --domain a.example --data x',
  );
  expect(said('correct it: `postrider domain set <domain> RequireTls=false` does.')).toBe(
    'correct it: `./bin/postrider domain set <domain> RequireTls=false --data x` does.',
  );
  expect(said("again: postrider suppress remove o'neil/x@example.net --domain a.example.")).toBe(
    "again: ./bin/postrider suppress remove o'neil/x@example.net --domain a.example --data x.",
  );
  expect(said('see: postrider queue holds   next column')).toBe(
    'see: ./bin/postrider queue holds --data x   next column',
  );
  expect(said('sent by postrider to mx.example')).toBe('sent by postrider to mx.example');
});
