// Builds the dashboard: `npm run build:ui`, and with --if-possible npm's `prepare`, which also runs where the build tools
// were left out (`npm ci --omit=dev`): the server then says how to build it, and its API works.
const ifPossible = process.argv.includes('--if-possible');
const vite = await import('vite').catch((cause) => {
  if (!ifPossible) throw cause;
  process.stdout.write('The dashboard was not built: its build tools are development dependencies.\n');
  return null;
});
if (vite !== null)
  await vite.build({ configFile: new URL('vite.config.ts', import.meta.url).pathname, logLevel: 'warn' });
