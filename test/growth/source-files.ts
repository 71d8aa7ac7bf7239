/** The files of the program, without tests and what only tests use. */
import { globSync } from 'node:fs';

/** Paths from the root, with slashes, in order. */
export function sourceFiles(below = 'src'): string[] {
  return globSync(`${below}/**/*.{ts,tsx}`)
    .map((file) => file.replaceAll('\\', '/'))
    .filter(
      (file) =>
        !file.endsWith('.test.ts') && !/\/test-[^/]*\.ts$/.test(file) && !file.includes('/conformance/'),
    )
    .sort();
}
