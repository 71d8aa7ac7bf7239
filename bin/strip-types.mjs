// Preloaded by the launcher where the program was installed as a package. Node runs the TypeScript of a repository as it
// is, and refuses that of a folder named node_modules; this takes the types out of our own files there, nobody else's.
// Threads inherit it. Line and column numbers stay as they are in the source.
import { readFileSync } from 'node:fs';
import { registerHooks, stripTypeScriptTypes } from 'node:module';

const own = new URL('../src/', import.meta.url).href;

registerHooks({
  load(url, context, next) {
    if (!url.startsWith(own) || !url.endsWith('.ts')) return next(url, context);
    const source = stripTypeScriptTypes(readFileSync(new URL(url), 'utf8'));
    return { format: 'module', source, shortCircuit: true };
  },
});
