// Sorts the samples of a profile into the stages of a message: each sample belongs to the innermost function on its
// stack that a rule below names. Prints the table of stages, and the functions that cost most.
import type { Frame, ProfiledThread } from './inspector.ts';
import type { Figures } from './measure.ts';

/** A stage and where its functions are; the first rule that fits a function counts. */
const RULES: readonly (readonly [stage: string, where: RegExp])[] = [
  ['SQLite: transaction', /sqlite\/engine\/(batch|writer-work|keyed)\.ts/],
  ['SQLite: rows of acceptance', /sqlite\/acceptance\.ts/],
  ['SQLite: rows of outcomes', /sqlite\/queue\.ts/],
  ['SQLite: events', /sqlite\/(events|webhooks|stats|totals)\.ts/],
  ['SQLite: other', /sqlite\/engine\/(connection|session)\.ts/],
  [
    'hand-over to the writer',
    /sqlite\/(open|engine\/(thread|arena|protocol|writer-thread|reader-thread|reader-work))\.ts|shared\/group-commit\.ts|node:internal\/(worker|per_context\/messageport)/,
  ],
  ['token, rate, callers', /policy\/access|policy\/limits\/(send-rate|quota)|http\/callers\.ts/],
  [
    'JSON and validation',
    /http\/(send|body\/json|idempotency)|mail\/(address|mailbox)|compose-input\.ts|mail\/(author-field)/,
  ],
  [
    'HTTP',
    /listeners\/http|fastify|find-my-way|light-my-request|secure-json|avvio|node:_http|node:internal\/http|body-reader/,
  ],
  ['compose', /pipeline\/compose|mail\/(mime|header|encoded|transfer)/],
  ['accept', /pipeline\/accept|policy\/(domains|suppressions)|lib\/ids\.ts|lib\/random\.ts|model\//],
  ['sign', /prepare\/signing\.ts|mail\/dkim/],
  ['prepare', /deliver\/prepare|mail\/verp\.ts/],
  ['queue', /pipeline\/queue/],
  ['outcome', /deliver\/outcome|lib\/kept-writes\.ts/],
  ['path', /pipeline\/deliver/],
  ['SMTP client', /src\/smtp/],
  ['logs', /lib\/(mail-)?log\.ts|node_modules\/(pino|sonic)/],
  ['metrics', /prom-client|metrics\.ts/],
  ['events and webhooks', /pipeline\/(events|webhooks|notices)/],
  ['sockets', /node:(net|internal\/(stream|stream_base|streams))|node:internal\/streams/],
  ['timers, ticks', /node:(timers|internal\/(timers|process))|lib\/(clock|turns)\.ts/],
];
const BUILT_IN: ReadonlyMap<string, string> = new Map([
  ['(garbage collector)', 'garbage collection'],
  ['(program)', 'outside of JavaScript'],
]);

/** The tables as Markdown. */
export function stagesOf(
  threads: readonly ProfiledThread[],
  { cost }: Figures,
  messages: number,
  withFrames: boolean,
): string {
  const rows = new Map<string, { us: Map<string, number>; kb: number }>();
  const row = (stage: string): { us: Map<string, number>; kb: number } => {
    const known = rows.get(stage) ?? { us: new Map(), kb: 0 };
    rows.set(stage, known);
    return known;
  };
  let list = '';
  const names = [...new Set(threads.map(({ name }) => name))];
  for (const name of names) {
    const all = threads.filter((one) => one.name === name).map((one) => one.samples());
    const [cpu, allocated] = [all.flatMap((one) => one.cpu), all.flatMap((one) => one.allocated)];
    const busy = cpu.filter(({ functionName }) => functionName !== '(idle)');
    const samples = busy.reduce((sum, { self }) => sum + self, 0);
    // What the system says that the thread used, divided as the samples are.
    const usOf = ({ self }: Frame): number => (self / samples) * (cost.threads.get(name) ?? 0) * 1000;
    if (samples > 0) {
      for (const frame of busy) {
        const { us } = row(stageOf(frame));
        us.set(name, (us.get(name) ?? 0) + usOf(frame));
      }
      if (withFrames) list += functionList(name, busy, usOf, 'µs', 45);
    }
    for (const frame of allocated) row(stageOf(frame)).kb += frame.self / messages / 1024;
    if (withFrames) list += functionList(name, allocated, ({ self }) => self / messages / 1024, 'KB', 25);
  }
  for (const [name, seconds] of cost.threads)
    if (!names.includes(name)) row(name).us.set('others', seconds * 1000);
  return table(rows, [...names, 'others'], cost.farPer1000 * 1000) + list;
}

function stageOf(frame: Frame): string {
  const builtIn = BUILT_IN.get(frame.functionName);
  if (builtIn !== undefined) return builtIn;
  for (let one: Frame | null = frame; one !== null; one = one.parent) {
    const { url } = one;
    const rule = url === '' ? undefined : RULES.find(([, where]) => where.test(url));
    if (rule !== undefined) return isWrite(frame, one) ? `${rule[0]}: kernel` : rule[0];
  }
  return 'other';
}

/** Inside of a system call that sends or receives. */
function isWrite({ functionName, url }: Frame, by: Frame): boolean {
  return (
    url === '' &&
    /^(writev|writeBuffer|writeLatin1String|writeUtf8String|write|readStart)$/.test(functionName) &&
    by.url !== ''
  );
}

function table(
  rows: ReadonlyMap<string, { us: ReadonlyMap<string, number>; kb: number }>,
  threads: readonly string[],
  far: number,
): string {
  const total = (us: ReadonlyMap<string, number>): number =>
    [...us.values()].reduce((sum, one) => sum + one, 0);
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |\n`;
  const shown = (value: number): string => (value < 0.05 ? '' : value.toFixed(1));
  const all = new Map(
    threads.map((name) => [name, [...rows.values()].reduce((sum, { us }) => sum + (us.get(name) ?? 0), 0)]),
  );
  const kb = [...rows.values()].reduce((sum, row) => sum + row.kb, 0);
  return (
    line(['µs a message', ...threads, 'KB a message']) +
    line(['---', ...threads.map(() => '---:'), '---:']) +
    [...rows]
      .filter(([, { us, kb }]) => total(us) >= 0.05 || kb >= 0.05)
      .sort(([, a], [, b]) => total(b.us) - total(a.us))
      .map(([stage, { us, kb }]) =>
        line([stage, ...threads.map((name) => shown(us.get(name) ?? 0)), shown(kb)]),
      )
      .join('') +
    line([
      `**all: ${total(all).toFixed(0)}**`,
      ...threads.map((name) => shown(all.get(name) ?? 0)),
      shown(kb),
    ]) +
    `\nSource and sink of the load: ${far.toFixed(0)} µs a message.\n`
  );
}

/** The functions of a thread that cost most by themselves. */
function functionList(
  thread: string,
  frames: readonly Frame[],
  of: (frame: Frame) => number,
  unit: string,
  most: number,
): string {
  const found = new Map<string, number>();
  for (const frame of frames) {
    const { functionName, url, line } = frame;
    const place = url === '' ? nearest(frame) : `${url.replace(/^.*\/(src|node_modules)\//, '$1/')}:${line}`;
    const name = `${functionName || '(anonymous)'} ${place}`;
    found.set(name, (found.get(name) ?? 0) + of(frame));
  }
  const top = [...found].sort(([, a], [, b]) => b - a).slice(0, most);
  return `\n${thread}\n${top.map(([name, value]) => `${value.toFixed(1).padStart(7)} ${unit}  ${name}\n`).join('')}`;
}

function nearest(frame: Frame): string {
  for (let one = frame.parent; one !== null; one = one.parent)
    if (one.url !== '')
      return `in ${one.functionName} ${one.url.replace(/^.*\/(src|node_modules)\//, '$1/')}:${one.line}`;
  return '';
}
