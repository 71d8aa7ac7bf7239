/** A folder for one test's database files, removed afterwards. Used by tests only. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Makes the folder; `file` gives a path inside, `remove` deletes everything. */
export function temporaryFolder(): { file(name: string): string; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), 'postrider-store-'));
  return {
    file: (name) => join(folder, name),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
