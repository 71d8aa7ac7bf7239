// Makes the Debian package dist/postrider_<version>_<architecture>.deb: `npm run build:deb`.
//
//   --out <folder>          where it is written
//   --package <folder>      the server as packages/server/build.mjs made it; made anew if not named
//   --node <file>           instead of the pinned Node
//   --version <version>     instead of that of package.json
//   --compression <words>   for dpkg-deb, e.g. -Zzstd,-z1; -Zxz is small and slow
//
// The package has everything below /usr/lib/postrider, with the pinned Node; nothing else needs to be installed.
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';
import { unitText } from '../../src/cli/setup/unit-file.ts';

const root = join(import.meta.dirname, '..', '..');
const { values } = parseArgs({
  options: {
    out: { type: 'string', default: join(root, 'dist') },
    package: { type: 'string' },
    node: { type: 'string' },
    version: { type: 'string' },
    compression: { type: 'string', default: '-Zxz' },
  },
});
const ARCHITECTURES = { x64: 'amd64', arm64: 'arm64' };
const architecture = ARCHITECTURES[process.arch];
if (architecture === undefined) throw new Error(`there is no pinned Node for ${process.arch}`);
const out = resolve(values.out);
mkdirSync(out, { recursive: true });
const stage = mkdtempSync(join(out, '.deb-'));
try {
  build();
} finally {
  rmSync(stage, { recursive: true });
}

function build() {
  const home = '/usr/lib/postrider';
  const node = `${home}/node_modules/.bin/node`;
  const inStage = (path) => join(stage, path);
  if (values.package !== undefined) cpSync(values.package, inStage(home), { recursive: true });
  else {
    // Its output names a folder that is gone at the end.
    const server = [join(root, 'packages/server/build.mjs'), inStage(home)];
    execFileSync(process.execPath, server, { stdio: ['ignore', 'ignore', 'inherit'] });
  }
  const facts = JSON.parse(readFileSync(inStage(`${home}/package.json`), 'utf8'));
  const version = values.version ?? facts.version;

  const pinned = join(root, 'node_modules', `node-linux-${process.arch}`);
  mkdirSync(inStage(dirname(node)), { recursive: true });
  cpSync(values.node ?? join(pinned, 'bin', 'node'), inStage(node));
  // A machine may have an old Node, or none.
  const launcher = inStage(`${home}/bin/postrider`);
  write(launcher, readFileSync(launcher, 'utf8').replace('#!/usr/bin/env node', `#!${node}`), 0o755);
  mkdirSync(inStage('/usr/bin'), { recursive: true });
  symlinkSync('../lib/postrider/bin/postrider', inStage('/usr/bin/postrider'));

  const unit = unitText({
    program: [node, `${home}/bin/postrider`],
    ...{ data: '/var/lib/postrider', user: 'postrider', lowPorts: true, credentials: [] },
  }).replace(/^#.*/, '# Changes belong into a file of /etc/systemd/system/postrider.service.d/.');
  write(inStage('/usr/lib/systemd/system/postrider.service'), unit);
  write(inStage('/etc/default/postrider'), readFileSync(join(import.meta.dirname, 'default'), 'utf8'));

  const doc = '/usr/share/doc/postrider';
  const licenses = [
    join(root, 'LICENSE'),
    join(stage, home, 'build', 'LICENSES.txt'),
    join(pinned, 'LICENSE'),
  ];
  write(
    inStage(`${doc}/copyright`),
    licenses.map((file) => readFileSync(file, 'utf8')).join(`\n${'-'.repeat(78)}\n\n`),
  );
  write(inStage(`${doc}/changelog.gz`), gzipSync(readFileSync(join(root, 'CHANGELOG.md')), { level: 9 }));

  for (const name of readdirSync(import.meta.dirname).filter((one) => /^(?:post|pre)/.test(one)))
    write(inStage(`/DEBIAN/${name}`), readFileSync(join(import.meta.dirname, name), 'utf8'), 0o755);
  write(inStage('/DEBIAN/conffiles'), '/etc/default/postrider\n');
  const size = execFileSync('du', ['-sk', stage], { encoding: 'utf8' }).split('\t')[0];
  const control = [
    'Package: postrider',
    `Version: ${version}`,
    `Architecture: ${architecture}`,
    'Maintainer: The postrider authors <postmaster@localhost>',
    `Installed-Size: ${size}`,
    'Depends: libc6 (>= 2.28), libstdc++6, passwd',
    'Section: mail',
    'Priority: optional',
    'Description: self-hosted email sending service',
    ' Takes mail by HTTP or SMTP, keeps it safe, signs it, delivers it and reports',
    ' what became of it. "postrider setup" leads from here to the first mail.',
  ];
  write(inStage('/DEBIAN/control'), `${control.join('\n')}\n`);

  // Of the checkout, files may have other rights than they are to have.
  execFileSync('chmod', ['-R', 'u+rwX,go+rX,go-w', stage]);
  const file = join(out, `postrider_${version}_${architecture}.deb`);
  const flags = [...values.compression.split(','), '--root-owner-group', '--build'];
  execFileSync('dpkg-deb', [...flags, stage, file], { stdio: ['ignore', 'ignore', 'inherit'] });
  process.stdout.write(`${file}\n`);
}

function write(path, content, mode = 0o644) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
  chmodSync(path, mode);
}
