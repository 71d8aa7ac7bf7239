/**
 * Writes the reference pages, `openapi.json`, the types of the client and the schema of SQLite from the code: `node docs/generate.ts`.
 * Tables of the code are printed as they are. Other sentences are in docs/generate/, one file for each page, by the names
 * in the table: a name without a sentence, or a sentence without a name, stops the script. test/docs/reference.test.ts
 * checks that the pages in the repository are current.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { apiPage, openApiText } from './generate/api.ts';
import { CLIENT_TYPES, clientTypesText } from './generate/client-types.ts';
import { commandsPage } from './generate/commands.ts';
import { configurationPage } from './generate/configuration.ts';
import { errorsPage } from './generate/errors.ts';
import { eventsPage } from './generate/events.ts';
import { metricsPage } from './generate/metrics.ts';
import { schemaFiles } from './generate/schema.ts';
import { replyRulesPage, shapingPage } from './generate/shaping.ts';
import { statusesPage } from './generate/statuses.ts';

/** The document of the API, at the top of the repository. */
export const OPENAPI = join(import.meta.dirname, '..', 'openapi.json');
export const REFERENCE = join(import.meta.dirname, 'reference');

/** File name → whole text, in the order of the table of contents. */
export async function referencePages(): Promise<ReadonlyMap<string, string>> {
  return new Map([
    ['api.md', apiPage()],
    ['errors.md', errorsPage()],
    ['events.md', eventsPage()],
    ['statuses.md', statusesPage()],
    ['commands.md', commandsPage()],
    ['config.md', configurationPage()],
    ['metrics.md', await metricsPage()],
    ['shaping.md', shapingPage()],
    ['reply-rules.md', replyRulesPage()],
  ]);
}

if (import.meta.main) {
  for (const [name, text] of await referencePages()) writeFileSync(join(REFERENCE, name), text);
  writeFileSync(OPENAPI, openApiText());
  writeFileSync(CLIENT_TYPES, clientTypesText());
  for (const [file, text] of schemaFiles()) writeFileSync(file, text);
}
