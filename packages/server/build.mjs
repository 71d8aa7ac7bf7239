// Makes the package of the server in dist/package, or in the folder that is named: `npm run build:package`.
// It needs no other package but Node: one minified file per thread in build/, with the libraries inside. Beside them are the
// files that are read at run time, in the folders they have in src/. A clone runs src/ as it is and needs none of this.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { rolldown } from 'rolldown';
import { build as buildDashboard } from 'vite';

const root = join(import.meta.dirname, '..', '..');
const src = join(root, 'src');
const out = resolve(process.argv[2] ?? join(root, 'dist', 'package'));
const build = join(out, 'build');
const COPIED = ['bin', 'contrib', 'docs', 'README.md', 'CHANGELOG.md', 'SECURITY.md', 'LICENSE'];
const READ_AT_RUN_TIME = /\.(?:json|sql|css|js)$/;
/** A thread's file, or where a module lies. */
const THREAD_OR_URL = /new URL\('(\.[^']+\.ts)', import\.meta\.url\)|import\.meta\.url/g;

rmSync(out, { recursive: true, force: true });
mkdirSync(build, { recursive: true });
for (const name of COPIED) cpSync(join(root, name), join(out, name), { recursive: true });
for (const name of readdirSync(src, { recursive: true }).filter((file) => READ_AT_RUN_TIME.test(file)))
  cpSync(join(src, name), join(build, name));
const compiler = join(root, 'node_modules', '.bin', 'tsc');
execFileSync(compiler, ['-p', join(root, 'tsconfig.client.json'), '--outDir', join(out, 'dist', 'client')], {
  stdio: 'inherit',
});
await buildDashboard({
  configFile: join(root, 'ui', 'vite.config.ts'),
  logLevel: 'warn',
  build: { outDir: join(out, 'dist', 'ui') },
});

const libraries = new Set();
const entries = [join(src, 'main.ts')];
for (const entry of entries) await bundle(entry);
writeFileSync(join(build, 'LICENSES.txt'), licenses());
const { name, version, description, license, type, bin, exports, engines, optionalDependencies } =
  readJson(root);
const facts = { name, version, description, license, type, bin, exports, engines, optionalDependencies };
writeFileSync(join(out, 'package.json'), `${JSON.stringify(facts, null, 2)}\n`);
process.stdout.write(`${name} ${version} is in ${out}. Next: npm pack ${out}\n`);

/** One file with everything that an entry imports, and one more for what it imports only when needed. */
async function bundle(entry) {
  const made = await rolldown({
    input: entry,
    platform: 'node',
    logLevel: 'warn',
    plugins: [{ name: 'paths', transform: { filter: { id: /\/src\/.*\.ts$/ }, handler: rewritePaths } }],
  });
  const { output } = await made.write({
    dir: build,
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: `${basename(entry, '.ts')}-[name].js`,
    minify: true,
  });
  for (const { fileName, code, moduleIds = [] } of output) {
    writeFileSync(join(build, fileName), inAscii(code));
    for (const id of moduleIds) {
      const [, folder] = /^(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(id) ?? [];
      if (folder !== undefined) libraries.add(folder);
    }
  }
}

/**
 * All modules lie in one folder then. Each asks for its files from where it was in src/, and for a thread by the name of
 * that thread's bundle, which is made too.
 */
function rewritePaths(code, id) {
  const own = `new URL('./${relative(src, id)}', import.meta.url)`;
  return code.replace(THREAD_OR_URL, (_, thread) => {
    if (thread === undefined) return `${own}.href`;
    const entry = join(dirname(id), thread);
    if (!entries.includes(entry)) entries.push(entry);
    return `new URL('./${basename(entry, '.ts')}.js', import.meta.url)`;
  });
}

/** One letter beyond ASCII, and Node keeps two octets for each of a file's letters: 3 MiB of the server. */
function inAscii(code) {
  return code.replace(/(\\*)([^\0-\x7f])/g, (_, before, letter) => {
    if (before.length % 2 === 1)
      throw new Error(`A backslash stands before ${letter}: write \\u and its number`);
    return `${before}\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}

function licenses() {
  const parts = [...libraries].sort().map((folder) => {
    const library = readJson(folder);
    const file = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one));
    const text = file === undefined ? '' : readFileSync(join(folder, file), 'utf8').trim();
    return `${library.name} ${library.version} (${library.license})\n\n${text}\n`;
  });
  return parts.join(`\n${'-'.repeat(78)}\n\n`);
}

function readJson(folder) {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
}
