/**
 * contrib/prometheus and contrib/grafana: promtool reads and tests the rules, the job of scrape.yml and every query of the dashboard, and
 * each metric that they name is one of a running server. Without promtool those tests are reported as skipped.
 */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { copyFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { fileScope, request, startInstance, temporaryFolder } from '../scenarios/harness.ts';
import { PROJECT } from '../scenarios/how-to-page.ts';

const scope = fileScope();
const RULES = join(PROJECT, 'contrib/prometheus');
const noPromtool = !existsSync('/usr/bin/promtool');
if (noPromtool) process.stderr.write('SKIPPED: promtool is not installed\n');

interface Panel {
  title: string;
  type: string;
  targets?: { expr: string }[];
  gridPos: { x: number; y: number; w: number; h: number };
}

let panels: Panel[];
let queries: string[];
let metrics: ReadonlySet<string>;

beforeAll(async () => {
  const dashboard = JSON.parse(await readFile(join(PROJECT, 'contrib/grafana/postrider.json'), 'utf8'));
  panels = dashboard.panels;
  queries = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
  // With every part that counts something.
  const server = await startInstance(scope, {
    settings: { 'shared-store': 'true', returns: '127.0.0.1:0', 'bounce-domain': 'bounces.example.com' },
  });
  const { text } = await request('GET', `${server.server.localUrl}/metrics`, { token: server.token });
  const found = [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].flatMap(([, name = '', kind]) =>
    kind === 'histogram' ? ['_bucket', '_count', '_sum'].map((end) => name + end) : [name],
  );
  // Prometheus makes this one itself.
  metrics = new Set([...found, 'up']);
});

/** The metrics that a query names: words before a selector or alone, without functions, labels and clauses. */
function namesIn(query: string): string[] {
  return query.match(/\b(?:postrider|process|nodejs)_\w+|\bup\b/g) ?? [];
}

describe('what is watched', () => {
  it('are metrics that a server has', async () => {
    const rules = await readFile(join(RULES, 'postrider-alerts.yml'), 'utf8');
    const rulesNamed = [...rules.matchAll(/^ +expr: (?:>\n)?((?:.+\n)(?: {12}.+\n)*)/gm)].flatMap(
      ([, expr = '']) => namesIn(expr),
    );
    expect(new Set(rulesNamed).size).toBeGreaterThan(8);
    const named = [...rulesNamed, ...queries.flatMap(namesIn)];
    expect([...new Set(named)].filter((name) => !metrics.has(name))).toEqual([]);
    expect(queries.filter((query) => namesIn(query).length === 0)).toEqual([]);
  });

  it('has a place of its own in the dashboard, below a row', () => {
    const rows = panels.filter(({ type }) => type === 'row').map(({ title }) => title);
    expect(rows).toEqual([
      ...['Now', 'What became of the mail', 'Queue', 'Paths and relays', 'Webhooks', 'Database', 'Process'],
    ]);
    const taken = new Set<string>();
    for (const { gridPos } of panels)
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x += 1)
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y += 1) {
          expect([x < 24, taken.has(`${x} ${y}`)]).toEqual([true, false]);
          taken.add(`${x} ${y}`);
        }
  });
});

describe.skipIf(noPromtool)('promtool', () => {
  const promtool = (args: readonly string[], cwd = RULES) =>
    execFileSync('promtool', args, { cwd, encoding: 'utf8', stdio: 'pipe' });

  it('reads the rules, and finds that each begins when it should', async () => {
    expect(promtool(['check', 'rules', 'postrider-alerts.yml'])).toContain('SUCCESS');
    expect(promtool(['test', 'rules', 'postrider-alerts.test.yml'])).toContain('SUCCESS');
    const names = async (file: string) =>
      new Set((await readFile(join(RULES, file), 'utf8')).match(/(?<=\balert(?:name)?: )\w+/g));
    expect(await names('postrider-alerts.test.yml')).toEqual(await names('postrider-alerts.yml'));
  });

  it('reads both ways to scrape', async () => {
    const folder = await temporaryFolder(scope);
    await copyFile(join(RULES, 'postrider-alerts.yml'), join(folder, 'postrider-alerts.yml'));
    await writeFile(join(folder, 'token'), 'token');
    const text = await readFile(join(RULES, 'scrape.yml'), 'utf8');
    const other = text
      .replace(/^ {2}- job_name[\s\S]*?8025'\]\n/m, '')
      .replace(/^ {2}# (?=- job_name| )/gm, '  ')
      .replace('/etc/prometheus/postrider-token', join(folder, 'token'));
    expect(other).toContain('\n    authorization:\n');
    for (const [name, config] of Object.entries({ own: text, other })) {
      await writeFile(join(folder, `${name}.yml`), config);
      expect(promtool(['check', 'config', `${name}.yml`], folder)).toContain('SUCCESS');
    }
  });

  it('reads every query of the dashboard', async () => {
    const folder = await temporaryFolder(scope);
    const rules = queries.map((query, n) => ({
      record: `query_${n}`,
      expr: query.replaceAll('$__rate_interval', '5m').replaceAll('$instance', '.*'),
    }));
    // Every JSON is YAML.
    await writeFile(join(folder, 'queries.yml'), JSON.stringify({ groups: [{ name: 'queries', rules }] }));
    expect(promtool(['check', 'rules', 'queries.yml'], folder)).toContain(`${queries.length} rules found`);
  });
});
