import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { Command } from 'commander';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CHALLENGE_HEADER, PROOF_HEADER, serverProof } from '../lib/data-files.ts';
import { keepsAll, someOf, wordsOf } from './arguments.ts';
import { createProgram } from './program.ts';
import type { Terminal } from './terminal.ts';

function programOn({ tty = false }: { tty?: boolean } = {}) {
  const streams = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() };
  if (tty) for (const stream of [streams.stdin, streams.stderr]) Object.assign(stream, { isTTY: true });
  const terminal = { ...streams, environment: {}, calledAs: () => 'postrider' } as never as Terminal;
  return { program: createProgram(terminal), ...streams };
}

async function run(args: readonly string[]): Promise<{ code: number; out: string; error: string }> {
  const { program, stdout, stderr } = programOn();
  const [out, error] = [text(stdout), text(stderr)];
  const code = await program.run(args);
  stdout.end();
  stderr.end();
  return { code, out: await out, error: await error };
}

/** Every command that acts, with the words that lead to it. */
function leaves(
  command: Command,
  path: readonly string[] = [],
): { path: readonly string[]; command: Command }[] {
  return command.commands.flatMap((child) => {
    const here = [...path, child.name()];
    return child.commands.length === 0 ? [{ path: here, command: child }] : leaves(child, here);
  });
}

const { tree } = programOn().program;

describe('an option that would be ignored', () => {
  const single = leaves(tree).flatMap(({ path, command }) =>
    [...command.options, ...tree.options]
      .filter((option) => !option.isBoolean() && !option.negate && !keepsAll(option))
      .map((option) => ({ path, option, name: `${path.join(' ')} ${option.long}` })),
  );

  it.each(single)('$name is refused the second time', async ({ path, option }) => {
    const value = wordsOf(option)[0] ?? '1';
    const twice = [...path, option.long ?? '', value, option.long ?? '', value];
    const { code, error } = await run(twice);
    expect([code, error]).toEqual([2, expect.stringContaining(`'${option.flags}' is given more than once`)]);
  });

  it('is not in the help of a command that does not take it', async () => {
    expect((await run(['queue', '--help'])).out).toContain('--domain');
    const { out } = await run(['queue', 'path', '--help']);
    expect(out).not.toContain('--domain');
    expect(out.match(/--help/g)).toHaveLength(1);
    expect(out).toContain('Global Options:');
  });

  it('is refused before a command that does not take it', async () => {
    const { code, error } = await run(['queue', '--domain', 'a.example', 'path']);
    expect([code, error]).toEqual([
      2,
      expect.stringContaining("'--domain <domain>' is not one of 'queue path'"),
    ]);
  });
});

describe('options that contradict each other', () => {
  it.each([
    'queue hold --all --from a.example --reason x',
    'queue release --all --priority bulk',
    'queue release 1 --all',
    'sandbox clear --all --inbox x',
    'sandbox wait --code --link',
    'token create --domain a.example --preset Send --scope email:send',
    'user add a@a.example --generate --no-password',
    'webhook calls 1 --delivery 2 --limit 3',
    'webhook replay 1 --delivery 2 --only-failed',
    'transfer --cancel --dry-run',
    'simulate plan.json --example faults',
    'simulate plan.json --exact --sample 5',
  ])('%s is refused', async (words) => {
    const { code, error } = await run(words.split(' '));
    expect([code, error]).toEqual([2, expect.stringMatching(/cannot be used with option|not both/)]);
  });
});

describe('a refusal with --json', () => {
  it.each([
    [['fly', '--json'], "unknown command 'fly'"],
    [['webhook', '--json'], 'name a command'],
    [['send', '--json'], "required option '--from <address>' not specified"],
    [['message', 'x', '--to', 'a@example.net', '--json'], '--to goes with --raw'],
    [['messages', '--limit', 'many', '--json'], 'Use a whole number from 1 to 100.'],
  ])('%j is one line of JSON', async (args, sentence) => {
    const { code, out, error } = await run(args);
    expect([code, out, error.split('\n').length]).toEqual([2, '', 2]);
    expect(JSON.parse(error)).toEqual({ Error: expect.stringContaining(sentence), ExitCode: 2 });
  });
});

describe('a mistake', () => {
  it.each([
    [['fly'], "unknown command 'fly'", ''],
    [['domain', 'add'], "missing required argument 'domain'", 'domain add '],
    [['queue', 'hold'], "required option '--reason <text>' not specified", 'queue hold '],
    [['suppress', 'import', '-'], "required option '--domain <domain>' not specified", 'suppress import '],
    [['send', '--', '--from'], "required option '--from <address>' not specified", 'send '],
    [['send', '--form', 'a@b.example'], "unknown option '--form'\n(Did you mean --from?)", 'send '],
  ])('%j names the help of that command', async (args, sentence, words) => {
    const { code, error } = await run(args);
    expect([code, error]).toEqual([2, `postrider: ${sentence}\nSee: postrider ${words}--help\n`]);
  });

  it.each([
    ['domain show', 'domain'],
    ['queue path', 'site'],
    ['cancel', 'id'],
    ['explain 550', 'reply'],
  ])('%s names its argument that is empty, as from a variable that is not set', async (words, name) => {
    const { code, error } = await run([...words.split(' '), '']);
    expect([code, error]).toEqual([2, `postrider: <${name}> is empty\n`]);
  });
});

it('takes several words with commas between them, with blanks or without', () => {
  expect(someOf(['a', 'b', 'c'])('a ,b, c', ['a'])).toEqual(['a', 'a', 'b', 'c']);
});

it('names the command for a word of other programs', async () => {
  const { code, error } = await run(['why']);
  expect([code, error]).toEqual([
    2,
    "postrider: unknown command 'why'\n(Did you mean status, causes, queue path or message?)\nSee: postrider --help\n",
  ]);
});

it.each([
  [['dev', '--port', '9000'], '\n(Did you mean --http 127.0.0.1:PORT?)'],
  [['serve', '--smtp-port=25'], '\n(Did you mean --submission 127.0.0.1:PORT?)'],
  [['messages', '--port', '9000'], ''],
])('%j names the flag of a server that is meant', async (args, meant) => {
  const { code, error } = await run(args);
  const flag = args[1] ?? '';
  expect([code, error]).toEqual([
    2,
    `postrider: unknown option '${flag}'${meant}\nSee: postrider ${args[0]} --help\n`,
  ]);
});

describe('--help', () => {
  it.each(['domain', 'override', 'sandbox'])('of %s lists help among its commands', async (name) => {
    const { out } = await run([name, '--help']);
    const commands = out.split('\n\n').find((block) => block.startsWith('Commands:'));
    expect(commands).toContain('help [command]');
  });

  it('shows every command once, below a heading, in order', async () => {
    const { out } = await run(['--help']);
    const blocks = out.split('\n\n').slice(2);
    const shown = blocks.map((block) =>
      block
        .split('\n')
        .slice(1)
        .flatMap((line) => /^ {2}([a-z]+)/.exec(line)?.[1] ?? []),
    );
    for (const names of shown) expect(names).toEqual([...names].sort());
    expect(blocks.filter((block) => block.startsWith('Commands:'))).toEqual([]);
    expect(shown.flat().sort()).toEqual([...tree.commands.map((each) => each.name()), 'help'].sort());
  });
});

describe('erase', () => {
  it('does nothing where nobody can be asked', async () => {
    const { code, error } = await run(['erase', 'a@example.net']);
    expect([code, error]).toEqual([2, expect.stringContaining('repeat the command with --yes')]);
  });

  it('does nothing where the answer is not yes', async () => {
    const { program, stdin, stderr, stdout } = programOn({ tty: true });
    const error = text(stderr);
    stdout.resume();
    const done = program.run(['erase', 'a@example.net']);
    stdin.write('no\n');
    expect(await done).toBe(1);
    stderr.end();
    expect(await error).toMatch(/Erase all data of a@example\.net permanently\?.*nothing was done/s);
  });
});

describe('texts that a server answers', () => {
  const OBEYED = ['\u001b', '\u009b', '\u202e', '\nforged'];
  const evil = 'a\u001b[31m\u009b1m\u202eb\nforged';
  const data = mkdtempSync(join(tmpdir(), 'answers-'));
  const given = { Sandbox: true, IPAllowList: [], RateLimit: null, CreatedBy: 't', ExpiresAt: null };
  const answers: Readonly<Record<string, object>> = {
    '/api/v1/tokens': {
      Items: [{ TokenID: 't', Name: evil, Domains: [evil], Scopes: [evil], RevokedAt: null, ...given }],
      NextCursor: null,
    },
    '/api/v1/smtp-credentials': {
      Items: [{ CredentialID: 'c', Username: 'u', Domain: 'd', Name: evil, CreatedAt: '', ...given }],
      NextCursor: null,
    },
    '/api/v1/causes': {
      Items: [{ CauseID: 1, Category: 'x', Site: evil, Reply: evil, Explanation: evil, FirstSeen: '' }],
      NextCursor: null,
    },
    '/api/v1/email/m': {
      ...{ MessageID: 'm', Subject: 'Re: postrider rocks', RecipientStatuses: {}, Size: 1, CreatedAt: '' },
      ...{ From: { Email: 'a@b.example' }, Recipients: [] },
    },
    '/api/v1/email/m/events': {
      Items: [
        {
          ...{ At: '', Event: 'held', Recipient: null, RemoteMta: '', Tls: '', Reply: '' },
          ...{ Explanation: '', Reason: 'to see why, run: postrider queue path b' },
        },
      ],
      NextCursor: null,
    },
    '/api/v1/warmup': { Items: [], NextCursor: null },
    '/readyz': {
      Checks: [
        { Name: 'store', Ok: false, Detail: 'the disk is full' },
        { Name: 'store-damage', Ok: true, Detail: 'the database is damaged' },
        { Name: 'outgoing', Ok: true, Detail: 'port 25 is closed' },
      ],
    },
    // As before lists had pages.
    '/api/v1/webhooks': { Webhooks: [] },
  };
  const server = createServer((request, response) => {
    const answer = answers[request.url?.split('?')[0] ?? ''];
    const refused = { Errors: [{ Code: 1, Message: evil }] };
    const challenge = request.headers[CHALLENGE_HEADER];
    if (challenge !== undefined)
      response.setHeader(
        PROOF_HEADER,
        serverProof('token', `http://${request.headers.host}`, `${challenge}`),
      );
    else if (answer === undefined) response.statusCode = request.url?.startsWith('/api/v1/nodes') ? 503 : 404;
    response.setHeader('content-type', 'application/json').end(JSON.stringify(answer ?? refused));
  });
  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    writeFileSync(
      join(data, 'server.json'),
      JSON.stringify({ url: `http://127.0.0.1:${port}`, pid: process.pid }),
    );
    writeFileSync(join(data, 'admin-token'), 'token');
  });
  afterAll(async () => {
    await new Promise((resolve) => server.close(resolve).closeAllConnections());
    rmSync(data, { recursive: true });
  });

  it.each([['token list'], ['smtp list'], ['causes']])(
    '%s shows without what a terminal obeys',
    async (words) => {
      const { code, out } = await run([...words.split(' '), '--data', data]);
      expect([code, out]).toEqual([0, expect.stringContaining('a·[31m·1m·b·forged')]);
      expect(OBEYED.filter((text) => out.includes(text))).toEqual([]);
    },
  );

  it('of a warm-up without rows do not deny the new sources that have sent nothing', async () => {
    const { out } = await run(['warmup', '--data', data]);
    expect(out).toMatch(/^No new source has sent to a provider .* `newSince`/);
  });

  it('end where an older server, not yet restarted, does not know pages', async () => {
    expect((await run(['webhook', 'list', '--data', data])).out).toContain('No webhooks yet.');
  });

  it('have the commands in them as they are typed here, and a subject as it is', async () => {
    const { out } = await run(['message', 'm', '--data', data]);
    expect(out).toContain('Re: postrider rocks\n');
    expect(out).toMatch(/run:\s+\S+ queue path b --data /);
  });

  it('a refusal because of the database names the failing checks, and no other problems', async () => {
    const { error } = await run(['nodes', '--data', data]);
    expect(error).toContain('  store: the disk is full\n  store-damage: the database is damaged\n');
    expect(error).not.toContain('outgoing');
  });

  it('a refusal shows in the same way', async () => {
    const { code, error } = await run(['message', 'x', '--data', data]);
    expect([code, error]).toEqual([1, 'postrider: a·[31m·1m·b·forged\n']);
  });

  it('are exact in JSON', async () => {
    const { out } = await run(['token', 'list', '--json', '--data', data]);
    expect(JSON.parse(out)).toMatchObject([{ Name: evil }]);
    expect(OBEYED.filter((text) => out.includes(text))).toEqual([]);
  });
});

describe('completion', () => {
  it.each([
    ['postrider dom', ['domain']],
    ['postrider domain ver', ['verify']],
    ['postrider --data /x queue ho', ['hold', 'holds']],
    ['postrider messages --st', ['--status']],
    ['postrider token create --preset ', ['Default', 'Send', 'Full', 'Admin']],
    ['postrider messages --status Del', ['Delivered']],
    ['postrider send --html ', []],
  ])('of bash completes "%s"', async (line, expected) => {
    const { out } = await run(['completion', 'bash']);
    const words = line.split(' ');
    const script = `${out}\nCOMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')})
COMP_CWORD=${words.length - 1}\n_postrider\nprintf '%s\\n' "\${COMPREPLY[@]}"`;
    const { stdout, stderr } = spawnSync('bash', ['--norc', '-u', '-c', script], { encoding: 'utf8' });
    expect([stderr, stdout.split('\n').filter((word) => word !== '')]).toEqual(['', expected]);
  });

  describe.skipIf(!hasShell('fish'))('of fish', () => {
    it.each([
      ['postrider dom', ['domain']],
      ['postrider domain ver', ['verify']],
      ['postrider --data /x queue ho', ['hold', 'holds']],
      ['postrider messages --st', ['--status']],
      ['postrider token create --preset ', ['Admin', 'Default', 'Full', 'Send']],
      ['postrider messages --status Del', ['Delivered']],
    ])('completes "%s"', async (line, expected) => {
      const script = await scriptFile('fish');
      expect(shell('fish', ['--no-config', '-n', script])).toEqual(['', '']);
      const [out, error] = shell('fish', ['--no-config', '-c', `source '${script}'; complete -C '${line}'`]);
      const words = out.split('\n').map((found) => found.split('\t')[0] ?? '');
      expect([error, words.filter((word) => word !== '')]).toEqual(['', expected]);
    });
  });

  describe.skipIf(!hasShell('zsh'))('of zsh', () => {
    // As somebody types it: a shell at a terminal of its own, one without any settings, and the key Tab.
    it.each([
      ['postrider dom', 'postrider domain'],
      ['postrider domain ver', 'postrider domain verify'],
      ['postrider messages --status Del', 'postrider messages --status Delivered'],
    ])('completes "%s"', async (line, expected) => {
      const script = await scriptFile('zsh');
      expect(shell('zsh', ['-f', '-n', script])).toEqual(['', '']);
      const typing = `zmodload zsh/zpty
zpty it 'TERM=dumb zsh -f -i'
zpty -w it "source '${script}'; echo re''ady"
zpty -r it out '*ready*'
zpty -n -w it '${line}'$'\\t'
zpty -r it out '*${expected}*'
print -r -- "$out"`;
      const [out] = shell('zsh', ['-f', '-c', typing]);
      expect(out).toContain(expected);
      expect(out).not.toContain('not found');
    });
  });
});

const folder = mkdtempSync(join(tmpdir(), 'completion-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** The script for that shell, as a file: a shell may not read one from a pipe. */
async function scriptFile(name: string): Promise<string> {
  const { code, out } = await run(['completion', name]);
  expect(code).toBe(0);
  writeFileSync(join(folder, name), out);
  return join(folder, name);
}

/** What it printed on both streams. */
function shell(name: string, args: readonly string[]): [string, string] {
  const env = { ...process.env, HOME: folder, TERM: 'dumb' };
  const { stdout, stderr } = spawnSync(name, args, { encoding: 'utf8', env, timeout: 30_000 });
  return [stdout, stderr];
}

function hasShell(name: string): boolean {
  if (spawnSync(name, ['--version']).status === 0) return true;
  process.stderr.write(`SKIPPED: the completion of ${name}: there is no ${name}\n`);
  return false;
}
