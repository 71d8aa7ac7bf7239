/**
 * The rules of the source tree as data, and the checker that holds files against them (ARCHITECTURE.md shows the same
 * import table). Given paths and texts, it leaves violations, each with its file and its rule; it reads nothing itself,
 * so that it can be tried on files that do not exist.
 *
 * Imports are found by plain regular expressions: `import … from`, `export … from`, `import '…'`, `import('…')`, and
 * `new URL('./x.ts', import.meta.url)`, by which a thread is started. Test files and their helpers may import what they
 * need; nothing that ships may import them.
 */

/** A part of src/. A file belongs to the area with the longest matching prefix. */
interface Area {
  /** Name in the import table. */
  name: string;
  /** Folder with a slash at its end, or one file. */
  at: string;
  /** Names of the areas it may import, besides itself. */
  may: readonly string[];
}

const BASE = ['model', 'lib'] as const;
const PIPELINE_BASE = ['store', 'mail', ...BASE] as const;
const POLICY = [
  'policy/access',
  'policy/domains',
  'policy/suppressions',
  'policy/limits',
  'policy/retention',
  'policy/sandbox',
] as const;
const PIPELINE = [
  'pipeline/accept',
  'pipeline/compose',
  'pipeline/queue',
  'pipeline/deliver',
  'pipeline/events',
  'pipeline/webhooks',
  'pipeline/notices',
  'pipeline/alerts',
] as const;
const LISTENER_BASE = [...PIPELINE, ...POLICY, 'store', 'smtp', 'mail', ...BASE] as const;
const LISTENERS = [
  'listeners/http',
  'listeners/health',
  'listeners/submission',
  'listeners/returns',
  'listeners/tracking',
  'listeners/dashboard',
] as const;
/** What replies mean. Pure, so that whoever reads a reply may ask: delivery, returns, the API, the operator. */
const CLASSIFIER = 'pipeline/deliver/outcome/classifier';
const ENGINES = ['store/sqlite', 'store/postgres'] as const;

/** The import table, from the top downwards. Whatever is not listed is not allowed. */
export const AREAS: readonly Area[] = [
  { name: 'main', at: 'src/main.ts', may: ['cli', 'config', 'lib'] },
  // policy/limits: the calendar of a warm-up, which is figures only.
  {
    name: 'cli',
    at: 'src/cli/',
    may: [
      ...['server', 'backup', 'preflight', 'transfer', 'simulation', 'config', CLASSIFIER],
      ...['policy/limits', 'policy/suppressions', 'client', ...BASE],
    ],
  },
  {
    name: 'server',
    at: 'src/server.ts',
    may: ['foundation', 'parts', 'server-options', 'config', 'smtp', 'lib'],
  },
  {
    name: 'foundation',
    at: 'src/foundation.ts',
    may: [
      ...['config', 'data-folder', 'database', 'network', 'pipeline/deliver', 'pipeline/queue'],
      ...['policy/access', 'store', ...BASE],
    ],
  },
  {
    name: 'parts',
    at: 'src/parts.ts',
    may: [
      ...['accounts', 'checkup', 'config', 'engine', 'foundation', 'http-api', 'readiness', 'server-options'],
      ...['smtp-listeners', 'upkeep', 'webhooks', CLASSIFIER],
      ...['listeners/http', ...PIPELINE, ...POLICY, 'smtp', 'mail', 'lib'],
    ],
  },
  // What the server is made of, each part put together in a file of its own.
  {
    name: 'engine',
    at: 'src/engine.ts',
    may: [
      'config',
      'traffic',
      CLASSIFIER,
      'pipeline/accept',
      'pipeline/queue',
      'pipeline/deliver',
      'policy/domains',
      'policy/limits',
      'policy/sandbox',
      'store',
      'smtp',
      'net',
      'mail',
      ...BASE,
    ],
  },
  {
    name: 'server-options',
    at: 'src/server-options.ts',
    may: [
      ...['config', 'database', 'engine', 'listeners/http', 'listeners/submission', 'pipeline/queue'],
      ...['policy/access', 'policy/retention', ...BASE],
    ],
  },
  {
    name: 'accounts',
    at: 'src/accounts.ts',
    may: ['data-folder', 'policy/access', 'policy/limits', 'store', 'net', 'lib'],
  },
  {
    name: 'http-api',
    at: 'src/http-api.ts',
    may: [
      'accounts',
      'checkup',
      'config',
      'engine',
      'readiness',
      'webhooks',
      ...LISTENERS,
      'pipeline/events',
      'policy/domains',
      'policy/limits',
      'policy/sandbox',
      'store',
      'net',
      'mail',
      ...BASE,
    ],
  },
  {
    name: 'smtp-listeners',
    at: 'src/smtp-listeners.ts',
    may: [
      'accounts',
      'config',
      'engine',
      'listeners/submission',
      'listeners/returns',
      CLASSIFIER,
      'pipeline/events',
      'policy/domains',
      'store',
      'smtp',
      'net',
      'mail',
      ...BASE,
    ],
  },
  { name: 'webhooks', at: 'src/webhooks.ts', may: ['config', 'pipeline/webhooks', 'store', 'net', ...BASE] },
  { name: 'network', at: 'src/network.ts', may: ['config', 'net', 'lib'] },
  // The engine over a real database in memory, with a world outside that is played.
  {
    name: 'simulation',
    at: 'src/simulation/',
    may: [
      ...['engine', 'config', CLASSIFIER, 'pipeline/accept', 'pipeline/queue', 'pipeline/deliver'],
      ...['policy/domains', 'policy/limits', 'store', 'store/sqlite', 'smtp', 'net', 'mail', ...BASE],
    ],
  },
  { name: 'config', at: 'src/config.ts', may: [...BASE] },
  { name: 'config', at: 'src/config/', may: [...BASE] },
  { name: 'config', at: 'src/config-routing.ts', may: [...BASE] },
  // pipeline/deliver, for its probes: that of port 25.
  {
    name: 'checkup',
    at: 'src/checkup.ts',
    may: ['checkup-probes', 'this-server', 'config', 'policy/domains', 'net', ...BASE],
  },
  {
    name: 'checkup-probes',
    at: 'src/checkup-probes.ts',
    may: ['this-server', 'config', 'policy/domains', 'pipeline/deliver', 'smtp', 'net', ...BASE],
  },
  { name: 'this-server', at: 'src/this-server.ts', may: ['config', 'policy/domains', 'net', ...BASE] },
  {
    name: 'preflight',
    at: 'src/preflight.ts',
    may: ['checkup', 'network', 'config', 'listeners/http', 'lib'],
  },
  { name: 'database', at: 'src/database.ts', may: ['config', 'store', ...ENGINES, 'lib'] },
  { name: 'backup', at: 'src/backup.ts', may: ['store/sqlite', 'lib'] },
  { name: 'transfer', at: 'src/transfer/', may: ['store', ...ENGINES, 'lib'] },
  { name: 'data-folder', at: 'src/data-folder.ts', may: ['store', 'lib'] },
  { name: 'operator-files', at: 'src/operator-files.ts', may: ['lib'] },
  { name: 'readiness', at: 'src/readiness.ts', may: ['store', 'lib'] },
  { name: 'traffic', at: 'src/traffic.ts', may: ['operator-files', 'policy/limits', 'store', ...BASE] },
  {
    name: 'upkeep',
    at: 'src/upkeep.ts',
    may: ['policy/domains', 'policy/retention', 'policy/suppressions', 'store', 'lib'],
  },
  ...LISTENERS.map((name) => ({
    name,
    at: `src/${name}/`,
    may:
      name === 'listeners/http'
        ? [CLASSIFIER, ...LISTENER_BASE]
        : name === 'listeners/returns'
          ? [CLASSIFIER, ...LISTENER_BASE]
          : name === 'listeners/dashboard'
            ? ['lib']
            : LISTENER_BASE,
  })),
  {
    name: 'pipeline/accept',
    at: 'src/pipeline/accept/',
    may: ['pipeline/compose', 'pipeline/queue', 'pipeline/events', ...POLICY, ...PIPELINE_BASE],
  },
  { name: 'pipeline/compose', at: 'src/pipeline/compose/', may: ['mail', ...BASE] },
  { name: 'pipeline/queue', at: 'src/pipeline/queue/', may: [...POLICY, ...PIPELINE_BASE] },
  {
    name: 'pipeline/deliver',
    at: 'src/pipeline/deliver/',
    may: [CLASSIFIER, 'pipeline/queue', 'pipeline/events', 'smtp', 'net', ...POLICY, ...PIPELINE_BASE],
  },
  { name: CLASSIFIER, at: `src/${CLASSIFIER}/`, may: ['mail', ...BASE] },
  { name: 'pipeline/events', at: 'src/pipeline/events/', may: [CLASSIFIER, ...POLICY, ...PIPELINE_BASE] },
  { name: 'pipeline/webhooks', at: 'src/pipeline/webhooks/', may: ['net', ...POLICY, ...PIPELINE_BASE] },
  // A notice is a message: it is written here and goes in by the same door as every other.
  {
    name: 'pipeline/notices',
    at: 'src/pipeline/notices/',
    may: [CLASSIFIER, 'pipeline/accept', 'pipeline/compose', ...PIPELINE_BASE],
  },
  { name: 'pipeline/alerts', at: 'src/pipeline/alerts/', may: ['pipeline/accept', ...PIPELINE_BASE] },
  ...POLICY.map((name) => ({ name, at: `src/${name}/`, may: ['store', 'mail', 'net', ...BASE] })),
  { name: 'store', at: 'src/store/store.ts', may: BASE },
  { name: 'store', at: 'src/store/topics/', may: BASE },
  { name: 'store', at: 'src/store/shared/', may: BASE },
  ...ENGINES.map((name) => ({ name, at: `src/${name}/`, may: ['store', ...BASE] })),
  { name: 'store/conformance', at: 'src/store/conformance/', may: ['store', ...BASE] },
  { name: 'smtp', at: 'src/smtp/', may: ['mail', 'net', 'lib'] },
  { name: 'net', at: 'src/net/', may: ['lib'] },
  { name: 'mail', at: 'src/mail/', may: ['lib'] },
  { name: 'model', at: 'src/model/', may: ['mail', 'lib'] },
  { name: 'lib', at: 'src/lib/', may: [] },
  // Runs in the customer's process: nothing of the server's comes along, and it is imported by nobody here.
  { name: 'client', at: 'src/client/', may: [] },
];

/** Between these only types may pass: they bring no code along. */
const TYPES_ONLY: ReadonlySet<string> = new Set(['model → mail', 'config → model']);

/** Where a package, or the SQLite of Node, may be imported: paths that begin with one of these. */
export const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  fastify: [
    'src/listeners/http/app.ts',
    'src/listeners/http/mount.ts',
    'src/listeners/http/running-requests.ts',
    'src/listeners/http/answers.ts',
    'src/listeners/http/error-answers.ts',
  ],
  zod: ['src/listeners/http/'],
  'postal-mime': [
    'src/listeners/http/sandbox/captured-mail.ts',
    'src/listeners/http/sandbox/captured-parts.ts',
    'src/listeners/returns/',
  ],
  jose: ['src/policy/access/'],
  'openid-client': ['src/policy/access/identity-metadata.ts', 'src/policy/access/identity-provider.ts'],
  pino: ['src/lib/log.ts'],
  'prom-client': [
    'src/foundation.ts',
    'src/engine.ts',
    'src/http-api.ts',
    'src/smtp-listeners.ts',
    'src/webhooks.ts',
    'src/simulation/',
    'src/pipeline/',
  ],
  commander: ['src/cli/'],
  '@clack/prompts': ['src/cli/setup/'],
  'node:sqlite': ['src/store/sqlite/'],
  pg: ['src/store/postgres/'],
};

/** What may stand only in some places, and why the exceptions are ones. */
const WORDS: readonly { rule: string; pattern: RegExp; in: readonly string[]; why: string }[] = [
  {
    rule: 'time only through Clock',
    pattern:
      /\bDate\.now\b|\bnew Date\(\)|\bperformance\.now\b|(?<![.\w])(?:setTimeout|setInterval|setImmediate)\b|\bAbortSignal\.timeout\b/,
    in: ['src/lib/', 'src/cli/', 'src/client/'],
    why: 'lib holds the clock; a command waits for a person or a server; the client runs elsewhere',
  },
  {
    rule: 'randomness only through Random',
    pattern: /\bMath\.random\b|\brandomUUID\b|\brandomBytes\b|\brandomFill(?:Sync)?\b|\bgetRandomValues\b/,
    in: ['src/lib/', 'src/client/'],
    why: 'lib holds the generator; the client runs elsewhere',
  },
  {
    rule: 'no console',
    pattern: /\bconsole\./,
    in: ['src/lib/', 'src/cli/'],
    why: 'commands talk to people',
  },
  {
    rule: 'environment only in main and config',
    pattern: /\bprocess\.env\b/,
    in: ['src/main.ts', 'src/config.ts', 'src/client/testing.ts'],
    why: 'main hands it to the table of keys; the starter for tests runs in programs of others',
  },
];

/**
 * Rooms: folders of one area among which imports have one direction. Each may import itself and the rooms that it names;
 * of the files beside the rooms, which put them together, only those in `shared`.
 */
export const ROOMS: readonly {
  at: string;
  rooms: Readonly<Record<string, readonly string[]>>;
  shared: readonly string[];
}[] = [
  {
    at: 'src/pipeline/deliver/',
    rooms: {
      outcome: [],
      tls: [],
      prepare: ['outcome'],
      routing: ['tls', 'outcome'],
      path: ['routing', 'prepare', 'tls', 'outcome'],
    },
    shared: ['deliver-metrics.ts'],
  },
];

export const MAX_LINES = 600;
/** A longer file says in its head comment why it is one piece, in these words. */
const SAYS_WHY = /\bone piece\b/;

export interface Violation {
  file: string;
  rule: string;
  detail: string;
}

interface Import {
  /** As written. */
  specifier: string;
  typesOnly: boolean;
  /** Starts a thread: its own beginning, so no part of a circle. */
  thread: boolean;
}

const STATEMENT = /^(import|export)\s+(type\s+)?([\w$*{}\s,]+?)\s*from\s*'([^'\n]+)'/gm;
const SIDE_EFFECT = /^import\s*'([^'\n]+)'/gm;
const DYNAMIC = /\bimport\(\s*'([^'\n]+)'\s*\)/g;
const THREAD = /\bnew URL\(\s*'(\.[^'\n]+\.ts)',\s*import\.meta\.url/g;

/** Every import of a text, in no promised order. */
export function importsOf(text: string): readonly Import[] {
  const found: Import[] = [];
  for (const [, , type, names = '', specifier = ''] of text.matchAll(STATEMENT)) {
    const inner = /^\{(.*)\}$/s.exec(names.trim())?.[1];
    const items = inner?.split(',').filter((item) => item.trim() !== '');
    const typesOnly = type !== undefined || (items?.every((item) => /^\s*type\s/.test(item)) ?? false);
    found.push({ specifier, typesOnly, thread: false });
  }
  for (const pattern of [SIDE_EFFECT, DYNAMIC]) {
    for (const [, specifier = ''] of text.matchAll(pattern))
      found.push({ specifier, typesOnly: false, thread: false });
  }
  for (const [, specifier = ''] of text.matchAll(THREAD))
    found.push({ specifier, typesOnly: false, thread: true });
  return found;
}

/** Whether a file is a test or a helper of tests: it may import what it likes, and nothing else may import it. */
export function isTest(file: string): boolean {
  return /\.test\.ts$|\/test-[a-z-]+\.ts$|\/conformance\//.test(file);
}

/** The area of a file, or undefined where the table knows none. */
export function areaOf(file: string): Area | undefined {
  let best: Area | undefined;
  // A test of a single file right below src/ belongs where that file does.
  const shipped = file.replace(/\.test\.ts$/, '.ts');
  for (const area of AREAS) {
    const matches = area.at.endsWith('/') ? file.startsWith(area.at) : shipped === area.at;
    if (matches && (best === undefined || area.at.length > best.at.length)) best = area;
  }
  return best;
}

/**
 * Everything that is wrong. `files`: path from the repository's root (`src/…`) → text. `dependencies`: names of the
 * packages that an installation without development tools has.
 */
export function check(
  files: ReadonlyMap<string, string>,
  dependencies: ReadonlySet<string>,
): readonly Violation[] {
  const violations: Violation[] = [];
  const edges = new Map<string, string[]>();
  for (const [file, text] of files) {
    const add = (rule: string, detail: string) => violations.push({ file, rule, detail });
    checkText(file, text, add);
    const area = areaOf(file);
    if (area === undefined) {
      add('every file belongs to an area', 'add its folder to the import table');
      continue;
    }
    if (isTest(file)) continue;
    for (const one of importsOf(text)) {
      const { specifier } = one;
      if (!specifier.startsWith('.')) checkPackage(file, specifier, dependencies, add);
      else {
        const target = resolveFrom(file, specifier);
        if (!one.thread) edges.set(file, [...(edges.get(file) ?? []), target]);
        if (!files.has(target)) add('imports name files that exist', specifier);
        else {
          checkEdge(area, target, one, add);
          checkRooms(file, target, add);
        }
      }
    }
  }
  for (const circle of circles(edges)) {
    const [first = ''] = circle;
    violations.push({ file: first, rule: 'no circles', detail: [...circle, first].join(' → ') });
  }
  return violations;
}

type Add = (rule: string, detail: string) => void;

function checkEdge(from: Area, target: string, one: Import, add: Add): void {
  if (isTest(target)) {
    add('nothing that ships imports a test', target);
    return;
  }
  const to = areaOf(target);
  if (to === undefined || to.name === from.name) return;
  if (!from.may.includes(to.name)) {
    const may = from.may.length === 0 ? 'nothing of ours' : from.may.join(' ');
    add('imports follow the table', `${from.name} → ${to.name} (${target}); ${from.name} may import ${may}`);
  } else if (TYPES_ONLY.has(`${from.name} → ${to.name}`) && !one.typesOnly) {
    add('imports follow the table', `${from.name} may import only types of ${to.name} (${target})`);
  }
}

function checkRooms(file: string, target: string, add: Add): void {
  const within = ROOMS.find(({ at }) => file.startsWith(at) && target.startsWith(at));
  if (within === undefined) return;
  const { at, rooms, shared } = within;
  const from = file.slice(at.length).split('/', 1)[0] ?? '';
  const to = target.slice(at.length);
  const may = rooms[from];
  if (may === undefined || to.startsWith(`${from}/`) || shared.includes(to)) return;
  if (!may.includes(to.split('/', 1)[0] ?? ''))
    add(
      'imports among rooms have one direction',
      `${from} → ${to}; ${from} may import ${may.join(' ') || 'no room'}`,
    );
}

function checkPackage(file: string, specifier: string, dependencies: ReadonlySet<string>, add: Add): void {
  if (specifier.startsWith('node:') && PACKAGES[specifier] === undefined) return;
  const name = specifier.startsWith('node:') ? specifier : packageName(specifier);
  const places = PACKAGES[name];
  if (places === undefined) add('packages stay where they belong', `${name} is not in the list of packages`);
  else if (!places.some((place) => file.startsWith(place))) {
    add('packages stay where they belong', `${name} may be imported in ${places.join(' ')} only`);
  }
  if (!name.startsWith('node:') && !dependencies.has(name)) {
    add('what ships imports dependencies only', `${name} is no dependency in package.json`);
  }
}

function packageName(specifier: string): string {
  return specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');
}

function checkText(file: string, text: string, add: Add): void {
  const code = withoutComments(text);
  const lines = text.split('\n').length - 1;
  const head = /^\/\*\*[\s\S]*?\*\/|^(?:\/\/[^\n]*\n)+/.exec(text)?.[0] ?? '';
  if (/^export\s*(?:type\s*)?\*/m.test(code)) add('no barrels', 'export * from');
  if (/^export\s+default\b/m.test(code)) add('no default exports', 'export default');
  const mark = /\b(?:TODO|FIXME|XXX)\b/.exec(text)?.[0];
  if (mark !== undefined)
    add('nothing is left to do', `${mark}: do it, or write it into docs/known-issues.md`);
  if (lines > MAX_LINES && !isTest(file) && !SAYS_WHY.test(head)) {
    add('long files say why', `${lines} lines; say in the head comment why it is one piece`);
  }
  if (isTest(file)) return;
  if (head === '')
    add('every file has a head comment', 'say what it is for, what it is given, what it leaves');
  for (const { rule, pattern, in: places } of WORDS) {
    const found = pattern.exec(code)?.[0];
    if (found !== undefined && !places.some((place) => file.startsWith(place))) {
      add(rule, `${found} stands outside ${places.join(' ')}`);
    }
  }
}

/** Comments become blanks. A comment that opens inside a text is not seen as one, because a blank stands before real ones. */
function withoutComments(text: string): string {
  return text.replace(/(^|\s)\/\*[\s\S]*?\*\//g, '$1').replace(/(^|\s)\/\/[^\n]*/g, '$1');
}

function resolveFrom(file: string, specifier: string): string {
  const parts = file.split('/').slice(0, -1);
  for (const part of specifier.split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '.') parts.push(part);
  }
  return parts.join('/');
}

/** Each circle once, as the files on it in order. */
function circles(edges: ReadonlyMap<string, readonly string[]>): readonly (readonly string[])[] {
  const found: string[][] = [];
  const done = new Set<string>();
  const path: string[] = [];
  const visit = (file: string): void => {
    const at = path.indexOf(file);
    if (at >= 0) {
      found.push(path.slice(at));
      return;
    }
    if (done.has(file)) return;
    path.push(file);
    for (const next of edges.get(file) ?? []) visit(next);
    path.pop();
    done.add(file);
  };
  for (const file of edges.keys()) visit(file);
  return found;
}
