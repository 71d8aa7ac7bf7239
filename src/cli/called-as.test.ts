import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { calledAs, quoted } from './called-as.ts';

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
