/** configuration.md: the table of keys in src/config.ts. */
import { CONFIG_KEYS } from '../../src/config.ts';
import { code, page, table } from './markdown.ts';

export function configurationPage(): string {
  const rows = Object.entries(CONFIG_KEYS).map(([name, facts]) => {
    const { dev, serve } = facts.defaults;
    const meaning =
      facts.notYet === true
        ? `${facts.meaning}. *Not in this version: setting it is reported at the start*`
        : facts.meaning;
    return [
      `\`${name}\``,
      `\`${facts.environment}\``,
      facts.form,
      dev === serve ? code(dev) : `dev ${code(dev)}, serve ${code(serve)}`,
      facts.secret === true ? `${meaning}. *Secret: never printed*` : meaning,
    ];
  });
  return page(
    'Configuration',
    INTRODUCTION,
    table(['Key', 'Environment', 'Form', 'Default', 'Meaning'], rows),
  );
}

const INTRODUCTION = `A key is read from the first of these places that has it:

1. a flag of \`dev\`, \`serve\` or \`config\`: \`--<key> <value>\`, for example \`--http 127.0.0.1:9000\`
2. the environment variable of the table
3. the environment variable with \`_FILE\` at its end: a file that holds the value (secrets of containers)
4. \`postrider.json\` in the data folder: one JSON object with the keys as names (not \`data\` itself)
5. the default

Unknown keys and bad values stop the start with a sentence that names the key, the value and what to write instead.
\`postrider config\` prints every key with its value and where it came from. Durations are written \`250ms\`, \`10s\`,
\`5m\`, \`72h\` or \`3d\`; lists are separated by commas.`;
