/**
 * The Dockerfile without containers, which cannot be started everywhere: each of its lines is done in folders that were empty, in
 * order, and each path that it names leads below them. What a base image has is taken from this machine: Node, npm, and instead
 * of `npm ci` the packages that it installed here, if it would install them.
 */
import { execFile, spawnSync } from 'node:child_process';
import { cp, mkdir, readFile, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { PROJECT } from './how-to-page.ts';

const run = promisify(execFile);

export interface ContainerImage {
  /** The folder that is `/` of the last stage. */
  root: string;
  environment: Record<string, string>;
  entry: readonly string[];
  command: readonly string[];
  healthCheck: readonly string[];
  user: string;
  volumes: readonly string[];
  /** Lines of the last stage that make a layer. */
  layers: readonly string[];
}

const NOBODY = 65_534;

/** Who is `node` here: nobody where this test is root and nobody may start Node, otherwise whoever runs it. */
export function imageUser(): { uid: number; gid: number } {
  const own = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
  if (own.uid !== 0) return own;
  const nobody = { uid: NOBODY, gid: NOBODY };
  return spawnSync(process.execPath, ['--version'], nobody).status === 0 ? nobody : own;
}

/** Builds it below `folder`. Rejects where a line fails. */
export async function buildImage(folder: string): Promise<ContainerImage> {
  const text = await readFile(join(PROJECT, 'Dockerfile'), 'utf8');
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  const roots = new Map<string, string>();
  const image: ContainerImage = {
    ...{ root: '', environment: {}, entry: [], command: [], healthCheck: [] },
    ...{ user: 'root', volumes: [], layers: [] },
  };
  let at = '/';
  for (const line of lines) {
    const [, word = '', rest = ''] = /^([A-Z]+) (.+)$/.exec(line) ?? [];
    const below = (path: string) => join(image.root, path.startsWith('/') ? path : join(at, path));
    if (word === 'FROM') {
      const name = / AS (\w+)$/.exec(rest)?.[1] ?? 'last';
      Object.assign(image, { root: join(folder, name), environment: {}, user: 'root', layers: [] });
      roots.set(name, image.root);
      at = '/';
      await mkdir(image.root, { recursive: true });
    } else if (word === 'WORKDIR') {
      at = rest;
      await mkdir(below('.'), { recursive: true });
    } else if (word === 'COPY') {
      const [, stage, from = '', to = ''] = /^(?:--from=(\w+) )?(\S+) (\S+)$/.exec(rest) ?? [];
      if (stage === undefined) await copyContext(below(to));
      else await cp(join(roots.get(stage) ?? '', from), below(to), { recursive: true });
      image.layers = [...image.layers, line];
    } else if (word === 'RUN') {
      await runLine(rest, image.root, below('.'));
      image.layers = [...image.layers, line];
    } else if (word === 'ENV') {
      for (const [, name = '', value = ''] of rest.matchAll(/(\w+)=(\S+)/g))
        image.environment[name] = value.replace(/^\//, `${image.root}/`);
    } else if (word === 'USER') image.user = rest;
    else if (word === 'VOLUME') image.volumes = [...image.volumes, rest];
    else if (word === 'HEALTHCHECK') image.healthCheck = JSON.parse(rest.replace(/^.*? CMD /, ''));
    else if (word === 'ENTRYPOINT') image.entry = JSON.parse(rest);
    else if (word === 'CMD') image.command = JSON.parse(rest);
    else if (word !== 'EXPOSE')
      throw new Error(`the Dockerfile has a line that this test does not know: ${line}`);
  }
  return image;
}

/** What `COPY . .` takes of a clone: all that .dockerignore does not leave out. */
async function copyContext(to: string): Promise<void> {
  const ignored = (await readFile(join(PROJECT, '.dockerignore'), 'utf8')).split('\n').filter(Boolean);
  const left = ignored.map((name) => `--exclude=./${name}`).join(' ');
  await run('sh', ['-ec', `tar -c ${left} . | tar -x -C "$0"`, to], { cwd: PROJECT });
}

async function runLine(line: string, root: string, cwd: string): Promise<void> {
  let command = line.replace(/ (\/\w+)/g, ` ${root}$1`);
  if (command.includes('npm ci')) {
    await symlink(join(PROJECT, 'node_modules'), join(cwd, 'node_modules'));
    command = command.replace('npm ci', 'npm ci --dry-run --offline --no-audit --no-fund');
  }
  const { uid, gid } = imageUser();
  command = command.replace('chown node:node', `chown ${uid}:${gid}`);
  await run('sh', ['-ec', command], { cwd, maxBuffer: 64 * 1024 * 1024 });
}
