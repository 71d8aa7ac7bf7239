/**
 * Builds the dashboard into dist/ui: files whose names hold a hash of their content, each also compressed at its best, so
 * that the server compresses nothing. `npm run dev:ui` serves it with hot reload and passes the API on to a running server.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import tailwind from '@tailwindcss/vite';
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';

/** Browsers that know `light-dark()`. */
const BROWSERS = ['chrome123', 'firefox120', 'safari17.5'];

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react(), tailwind(), compressed()],
  build: {
    outDir: join(import.meta.dirname, '..', 'dist', 'ui'),
    emptyOutDir: true,
    target: BROWSERS,
    cssTarget: BROWSERS,
    // Everything is a file: the policy of the page lets nothing inline run or load.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // What several places use is one file instead of dozens of small ones, which a slow processor reads one by one.
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [{ name: 'shared', minShareCount: 4, test: /[/\\](?:ui|lucide-react)[/\\]/ }],
        },
      },
    },
    // The data about mail programs, which is loaded for the checks alone.
    chunkSizeWarningLimit: 800,
  },
  server: {
    host: '127.0.0.1',
    port: 5173,
    // Below /api are also files of ours. With the host that the browser asked: the server compares it with the address of the page.
    proxy: {
      '/api/v1': { target: process.env.POSTRIDER_URL ?? 'http://127.0.0.1:8025', changeOrigin: false },
    },
  },
});

function compressed(): Plugin {
  let folder = '';
  return {
    name: 'compressed',
    apply: 'build',
    configResolved({ build }) {
      folder = build.outDir;
    },
    closeBundle() {
      for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
        if (!/\.(?:html|js|css|svg|json)$/.test(name)) continue;
        const file = join(folder, name);
        const plain = readFileSync(file);
        const quality = { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY };
        for (const [end, packed] of [
          ['br', brotliCompressSync(plain, { params: quality })],
          ['gz', gzipSync(plain, { level: 9 })],
        ] as const)
          if (packed.length < plain.length) writeFileSync(`${file}.${end}`, packed);
      }
    },
  };
}
