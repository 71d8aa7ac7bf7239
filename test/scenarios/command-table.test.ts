/**
 * Every command, beside a running server and without one: its exit code, and JSON alone on standard
 * output where `--json` asks for it.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import type { Command } from 'commander';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createProgram } from '../../src/cli/program.ts';
import type { Terminal } from '../../src/cli/terminal.ts';
import { command } from './commands.ts';
import { databaseOf, isOnPostgres } from './database-of-folder.ts';
import { fileScope, startInstance, temporaryFolder } from './harness.ts';

const scope = fileScope();
const files = mkdtempSync(join(tmpdir(), 'postrider-commands-'));
const file = (name: string) => join(files, name);
afterAll(() => rmSync(files, { recursive: true }));

/** What is done, its exit code, and `keep`: under which name a member of the JSON answer is filled in later. */
type Row = [words: string, code: 0 | 1 | 2, keep?: [name: string, member: string]];

const NOBODY = '00000000-0000-7000-8000-000000000000';

const ROWS: readonly Row[] = [
  ['domain add table.example --verified', 0],
  ['domain add table.example', 1],
  ['domain add not_a_domain', 2],
  ['domain add', 2],
  ['domain list', 0],
  ['domain show table.example', 0],
  ['domain show nobody.example', 1],
  ['domain set table.example Tracking.Opens=true', 0],
  ['domain set table.example Nope=true', 2],
  // Nobody answers its DNS here.
  ['domain verify table.example', 1],
  ['domain rotate-dkim nobody.example', 1],
  ['token create --domain table.example --expires-in 1d --rate-limit 2.5 --name t', 0, ['token', 'TokenID']],
  ['token create --domain table.example --preset nope', 2],
  ['token create --domain table.example --preset send', 0],
  ['token create --domain table.example --scope email:nope', 2],
  ['token create --domain table.example --scope email:send,events:read stats:read', 0],
  ['token create --domain table.example --expires-in soon', 2],
  ['token create --domain table.example --rate-limit fast', 2],
  ['token create --domain table.example --rate-limit 0', 2],
  ['token create', 2],
  ['token list', 0],
  ['token limits', 0],
  ['token revoke {token}', 0],
  [`token revoke ${NOBODY}`, 1],
  ['smtp create --domain table.example', 0, ['user', 'Username']],
  ['smtp list', 0],
  ['smtp remove {user}', 0],
  ['smtp remove nobody', 1],
  [
    'send --from a@table.example --to b@simulator.test --subject s --text {text}',
    0,
    ['message', 'MessageID'],
  ],
  ['send --from a@table.example --to b@simulator.test --subject s --text {none}', 1],
  ['send --from a@table.example --to b@simulator.test --subject s', 2],
  ['send --from a@table.example --to b@simulator.test --subject s --text {text} --priority fast', 2],
  ['send --from a@foreign.example --to b@simulator.test --subject s --text {text}', 1],
  ['messages --status queued --limit 5', 0],
  ['messages --status Nope', 2],
  ['messages --limit 0', 2],
  ['message {message}', 0],
  ['message nobody', 1],
  ['explain 550_5.1.1_no_such_user', 0],
  ['explain --stage nope 550_x', 2],
  ['queue', 0],
  ['queue path', 0],
  ['queue path table.example', 0],
  ['queue path google', 0],
  ['queue path nonsense', 1],
  ['queue try', 2],
  ['queue try nonsense.example', 1],
  ['queue hold --to table.example --reason later --until 2h', 0, ['hold', 'HoldID']],
  ['queue hold --to table.example --reason later --until yesterday', 2],
  ['queue hold --reason later', 2],
  ['queue hold --priority fast --reason later', 2],
  ['queue holds', 0],
  ['queue release {hold}', 0],
  ['queue release {hold}', 1],
  ['queue release', 2],
  ['override list', 0],
  [`override remove ${NOBODY}`, 1],
  ['causes', 0],
  ['causes resend nope', 2],
  ['causes resend 999', 1],
  ['warmup', 0],
  ['warmup plan --per-day 20000', 0],
  ['warmup plan --per-day many', 2],
  [
    'webhook create --domain table.example --event bounce http://127.0.0.1:9/hook',
    0,
    ['webhook', 'NewWebhookID'],
  ],
  ['webhook create --domain table.example --event nope https://hooks.example/', 2],
  ['webhook create --domain table.example --event open,click --event bounce http://127.0.0.1:9/two', 0],
  ['webhook calls {webhook}', 0],
  ['webhook calls 999', 1],
  ['webhook calls nope', 2],
  ['webhook create --domain table.example --event bounce hooks.example', 2],
  ['webhook list', 0],
  ['webhook test {webhook}', 1],
  ['webhook test 999', 1],
  ['webhook test nope', 2],
  ['webhook replay {webhook} --since 2026-01-01T00:00:00Z', 0],
  ['webhook replay {webhook} --only-failed', 0],
  ['webhook replay {webhook} --since 0 --until 2h', 0],
  ['webhook replay {webhook} --since yesterday', 2],
  ['webhook replay {webhook}', 2],
  ['webhook remove {webhook}', 0],
  ['suppress add --domain table.example gone@example.net', 0],
  ['suppress add --domain table.example gone@example.net --reason Nope', 2],
  ['suppress add --domain table.example nobody', 2],
  ['suppress list --domain table.example', 0],
  ['suppress remove --domain table.example gone@example.net', 0],
  ['suppress remove --domain table.example gone@example.net', 1],
  ['suppress import --domain table.example {list}', 0],
  ['suppress import --domain table.example {list} --reason Nope', 2],
  ['suppress import --domain table.example {wrong}', 1],
  ['suppress import --domain table.example {none}', 1],
  ['suppress import --domain table.example {wrong} --skip-invalid', 0],
  ['suppress import --domain table.example {odd}', 2],
  ['suppress import --domain table.example {odd} --dry-run', 0],
  ['suppress import --domain table.example {odd} --map gone=Bounce --column Note=Warum', 0],
  ['suppress import --domain table.example {odd} --yes', 0],
  ['suppress import --domain table.example {odd} --map gone=Nope', 2],
  ['suppress import --domain table.example {odd} --column Email=Nope', 2],
  ['suppress export', 0],
  ['suppress export {export}', 0],
  ['suppress export {export}', 1],
  ['suppress export {export} --force', 0],
  ['backup {backup}', isOnPostgres() ? 1 : 0],
  ['backup {backup}', 1],
  ['restore {backup}', 1],
  ['rollback --yes', 1],
  ['erase reader@example.net', 2],
  ['erase reader@example.net --yes', 0],
  ['erase nobody --yes', 2],
  ['config', 0],
  ['config --http nope', 2],
  ['config --mode nope', 2],
  ['completion bash', 0],
  ['completion powershell', 2],
  ['suppress add --domain a.example --domain table.example gone@example.net', 2],
  ['messages --to a@example.net --to b@example.net', 2],
  ['messages --limit 5 --limit 5', 2],
  ['queue --domain table.example path', 2],
  ['queue --domain table.example', 0],
  ['domain', 2],
  ['domain remove table.example', 0],
  ['domain remove table.example', 1],
  ['fly', 2],
];

beforeAll(() => {
  writeFileSync(file('text'), 'Hello');
  writeFileSync(file('list'), 'email\nreader@example.net\n');
  writeFileSync(file('odd'), 'Email;Warum;Reason\nreader@example.net;x;gone\n');
  writeFileSync(file('wrong'), 'email\nreader@example.net\nnobody\n');
});

describe.each(['beside a running server', 'without a server'])('every command %s', (where) => {
  let data: string;
  const filled = new Map<string, string>();
  beforeAll(async () => {
    for (const name of ['text', 'list', 'wrong', 'odd', 'none']) filled.set(name, file(name));
    for (const name of ['export', 'backup']) filled.set(name, file(`${name} ${where}`));
    data = await temporaryFolder(scope);
    const settings = {
      ...{ dns: '127.0.0.1:9', 'allow-networks': '127.0.0.0/8', route: 'sandbox' },
      database: databaseOf(data) ?? 'sqlite:',
    };
    writeFileSync(join(data, 'postrider.json'), JSON.stringify(settings));
    const server = await startInstance(scope, { folder: data, settings });
    if (where === 'without a server') await server.stop();
  });

  it.each(ROWS)('%s → %s', async (words, code, keep) => {
    const args = words.split(' ').map((word) => {
      const name = /^\{(\w+)\}$/.exec(word)?.[1];
      return name === undefined ? word.replaceAll('_', ' ') : (filled.get(name) ?? '');
    });
    const result = await command([...args, '--json', '--data', data]);
    expect(`${result.code} ${code === 0 ? result.stderr : ''}`, result.stdout + result.stderr).toMatch(
      new RegExp(`^${code} `),
    );
    if (code === 0) {
      const answer = JSON.parse(result.stdout);
      if (keep !== undefined) filled.set(keep[0], String(answer[keep[1]]));
    } else if (result.stdout !== '') JSON.parse(result.stdout);
    if (code === 2 || (code === 1 && result.stdout === '')) {
      const refusal: unknown = JSON.parse(result.stderr.trimEnd().split('\n').at(-1) ?? '');
      expect(refusal).toMatchObject({ Error: expect.stringMatching(/\S/), ExitCode: code });
    }
  });
});

it('shows an example with the help of every command', () => {
  const out = new PassThrough();
  const { tree } = createProgram({
    stdout: out,
    stderr: out,
    stdin: new PassThrough(),
    calledAs: () => 'postrider',
    environment: {},
  } as unknown as Terminal);
  const without: string[] = [];
  const walk = (at: Command, name: string): void => {
    for (const child of at.commands) walk(child, `${name} ${child.name()}`);
    if (at.commands.length > 0) return;
    let help = '';
    at.configureOutput({
      writeOut: (text) => {
        help += text;
      },
    });
    at.outputHelp();
    if (!/Example:\n {2}\$ .*postrider/.test(help)) without.push(name);
  };
  walk(tree, 'postrider');
  expect(without).toEqual([]);
});
