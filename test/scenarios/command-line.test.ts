/** The command line: configuration and its errors, exit codes, and commands with and without a running server. */
import { execFile, spawn, spawnSync } from 'node:child_process';
import { closeSync, existsSync, openSync, readdirSync, realpathSync, renameSync } from 'node:fs';
import { chown, cp, readFile, stat, writeFile } from 'node:fs/promises';
import { createServer as createHttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { createTestCa } from '../fakes/test-certificates.ts';
import { command, startCommand } from './commands.ts';
import { isOnPostgres } from './database-of-folder.ts';
import { addDomain, email, fileScope, request, startInstance, temporaryFolder, until } from './harness.ts';

const scope = fileScope();
const run = promisify(execFile);

describe('usage', () => {
  it.each([
    ['no command at all', []],
    ['an unknown command', ['fly']],
    ['an unknown option', ['messages', '--colour']],
    ['a missing argument', ['message']],
    ['a missing required option', ['webhook', 'create', 'https://hooks.example.org/']],
    ['an unknown sub-command', ['domain', 'fly']],
  ])('%s ends with 2 and help', async (_what, args) => {
    const result = await command(args);
    expect(result.code).toBe(2);
    expect(result.stdout + result.stderr).toMatch(/usage|help/i);
  });

  it('--help shows an example for every command, and --version the version', async () => {
    const help = await command(['token', 'create', '--help']);
    expect([help.code, help.stdout]).toEqual([0, expect.stringContaining('Example:')]);
    expect(help.stdout).toContain('--data <folder>');
    const serve = await command(['serve', '--help']);
    expect(serve.stdout).toMatch(/host:port; default\s+127\.0\.0\.1:8025/);
    expect(serve.stdout).toContain('POSTRIDER_MX_PORT');
    const webhook = await command(['webhook', 'create', '--help']);
    expect(webhook.stdout).toMatch(/reported\s+\(required\)/);
    const version = await command(['--version']);
    expect([version.code, version.stdout.trim()]).toEqual([0, expect.stringMatching(/^\d+\.\d+\.\d+/)]);
  });
});

it('a clone without its packages says how to get them', async () => {
  const clone = await temporaryFolder(scope);
  for (const file of ['bin/postrider', 'package.json', 'src/main.ts']) {
    await cp(file, join(clone, file));
  }
  const { status, stderr } = spawnSync(process.execPath, [join(clone, 'bin/postrider'), 'dev'], {
    encoding: 'utf8',
  });
  expect([status, stderr]).toEqual([
    1,
    `postrider is not installed completely: run "npm ci" in ${realpathSync(clone)}.\n`,
  ]);
});

describe('configuration', () => {
  it('errors name the key, the value and the fix, all at once, with exit code 2', async () => {
    const folder = await temporaryFolder(scope);
    const result = await command(['serve', '--data', folder, '--mx-port', '99999'], {
      POSTRIDER_ROUTE: 'pigeon',
      POSTRIDER_RETRY: '1s,soon',
    });
    expect(result.code).toBe(2);
    expect(result.stderr).toMatch(/--mx-port "99999": .*65535/);
    expect(result.stderr).toMatch(/POSTRIDER_ROUTE "pigeon": use sandbox/);
    expect(result.stderr).toMatch(/POSTRIDER_RETRY "1s,soon": "soon" is not a duration/);
  });

  it('in the file is checked too, unknown keys by name, and a secret is not repeated', async () => {
    const folder = await temporaryFolder(scope);
    await writeFile(join(folder, 'postrider.json'), '{"ruote":"mx","secret-key":"short-secret"}');
    const result = await command(['config', '--data', folder]);
    expect(result.code).toBe(2);
    expect(result.stderr).toContain('unknown key "ruote"');
    expect(result.stderr).toContain('secret-key');
    expect(result.stderr).not.toContain('short-secret');
    await writeFile(join(folder, 'postrider.json'), '{ not json');
    expect((await command(['config', '--data', folder])).stderr).toContain('is not JSON');
  });

  it('is shown with every value and where it came from: flag over environment over file over default', async () => {
    const folder = await temporaryFolder(scope);
    const file = { 'mx-port': 2526, 'max-recipients': 10, retry: ['1s', '2s'], hostname: 'file.example' };
    await writeFile(join(folder, 'postrider.json'), JSON.stringify(file));
    await writeFile(join(folder, 'key'), `${'cd'.repeat(32)}\n`);
    const result = await command(['config', '--json', '--data', folder, '--mx-port', '2528'], {
      POSTRIDER_MX_PORT: '2527',
      POSTRIDER_HOSTNAME: 'environment.example',
      POSTRIDER_SECRET_KEY_FILE: join(folder, 'key'),
    });
    expect(result.code, result.stderr).toBe(0);
    const rows = new Map(
      (JSON.parse(result.stdout) as { key: string; value: string; source: string }[]).map((row) => [
        row.key,
        row,
      ]),
    );
    expect(rows.get('mx-port')).toMatchObject({ value: '2528', source: 'flag' });
    expect(rows.get('hostname')).toMatchObject({ value: 'environment.example', source: 'environment' });
    expect(rows.get('max-recipients')).toMatchObject({ value: '10', source: 'file' });
    expect(rows.get('retry')).toMatchObject({ value: '1s,2s', source: 'file' });
    expect(rows.get('route')).toMatchObject({ value: 'mx', source: 'default' });
    expect(rows.get('secret-key')).toMatchObject({ value: '(secret)', source: 'environment' });
    expect(result.stdout).not.toContain('cdcd');
  });

  it('does not show the password of a relay', async () => {
    const folder = await temporaryFolder(scope);
    const result = await command(['config', '--data', folder], {
      POSTRIDER_ROUTE: 'smtp://user:relay-password@relay.example:587',
    });
    expect(result.code).toBe(0);
    expect(result.stdout).toContain('relay.example');
    expect(result.stdout).not.toContain('relay-password');
    const wrong = await command(['config', '--data', folder], {
      POSTRIDER_ROUTE: 'smtp://user:relay-password@relay.example:587/path',
    });
    expect(wrong.code).toBe(2);
    expect(wrong.stderr).not.toContain('relay-password');
  });
});

describe('postrider config beside a running server', () => {
  it('shows what that server uses, and says so; named keys show what a start would use', async () => {
    const relay = 'smtp://user:relay-password@relay.example:587';
    const server = await startInstance(scope, {
      settings: { 'max-recipients': '7', route: relay },
    });
    const data = ['--data', server.folder];
    const shown = await command(['config', ...data]);
    expect(shown.stderr).toContain(`the values of the server at http`);
    expect(shown.stdout).toMatch(/^KEY +VALUE +FROM +DEFAULT +MEANING/);
    expect(shown.stdout).toMatch(/^max-recipients +7 +\S+ +50 /m);
    expect(shown.stdout).toContain('relay.example');
    expect(shown.stdout + shown.stderr).not.toContain('relay-password');
    const start = await command(['config', '--mode', 'serve', ...data]);
    expect(start.stderr).toContain('that a start of serve would use');
    await server.stop();
    expect((await command(['config', ...data])).stderr).toContain(`no server answers on ${server.folder}`);
  });
});

describe('postrider serve', () => {
  it('warns at the start where readers could not use the links in its mail, and of tokens in the clear', async () => {
    const data = ['--data', await temporaryFolder(scope), '--hostname', 'mail.example.com'];
    const route = ['--route', 'smtp://127.0.0.1:9'];
    const warned = async (...more: string[]) => {
      const serve = startCommand(scope, ['serve', '--http', '0.0.0.0:0', ...route, ...more, ...data]);
      await until('it says where mail goes', () => /Route: .*\n/.test(serve.stderr()));
      serve.child.kill('SIGTERM');
      const { stderr } = await serve.ended;
      return [
        /Warning: links in mail would begin with http:\/\/.* Set --public-url/.test(stderr),
        /Warning: tokens .* 0\.0\.0\.0 in the clear/.test(stderr),
      ];
    };
    expect([await warned(), await warned('--public-url', 'https://mail.example.com')]).toEqual([
      [true, true],
      [false, false],
    ]);
  });

  it('says where programs submit mail, and warns where they are shown a self-signed certificate', async () => {
    const data = ['--data', await temporaryFolder(scope), '--hostname', 'mail.example.com'];
    const said = async (...more: string[]) => {
      const serve = startCommand(scope, [
        'serve',
        '--http',
        '127.0.0.1:0',
        '--route',
        'sandbox',
        ...more,
        ...data,
      ]);
      await until('it says where mail goes', () => /Route: .*\n/.test(serve.stderr()));
      serve.child.kill('SIGTERM');
      return (await serve.ended).stderr;
    };
    const own = await said('--submission', '127.0.0.1:0', '--submission-tls', '127.0.0.1:0');
    expect(own).toMatch(/submit mail by SMTP at 127\.0\.0\.1:\d+ and 127\.0\.0\.1:\d+ \(TLS\)/);
    expect(own).toContain('a self-signed certificate, which most of them refuse');
    expect(await said()).not.toContain('SMTP');
    const folder = await temporaryFolder(scope);
    const files = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') };
    const made = createTestCa().issue({ names: ['mail.example.com'] });
    await Promise.all([writeFile(files.cert, made.cert), writeFile(files.key, made.key)]);
    const given = await said('--submission', '127.0.0.1:0', '--tls-cert', files.cert, '--tls-key', files.key);
    expect(given).toMatch(/submit mail by SMTP at/);
    expect(given).not.toContain('self-signed');
  });

  it('logs JSON lines to standard output, sends, and drains on SIGTERM with exit code 0', async () => {
    const folder = await temporaryFolder(scope);
    const data = ['--data', folder];
    expect((await command(['domain', 'add', 'example.com', '--verified', ...data])).code).toBe(0);
    const token = (await command(['token', 'create', '--domain', 'example.com', ...data])).stdout.trim();
    const serve = startCommand(scope, ['serve', '--http', '127.0.0.1:0', '--route', 'sandbox', ...data]);
    const url = await until('it listens', () => /listens on (http:\S+)/.exec(serve.stderr())?.[1]);
    // The line about the route is written after it.
    await until('it says where mail goes', () => /Route: .*\n/.test(serve.stderr()));
    // Nobody sits at a terminal: what is told at the start is of the log's form too.
    const told = serve
      .stderr()
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(told.map(({ stream }) => stream)).toEqual(told.map(() => 'service'));
    expect(told.map(({ msg }) => msg).join('\n')).toContain('Route: the sandbox');
    const second = await command(['serve', '--http', '127.0.0.1:0', ...data]);
    expect([second.code, second.stderr]).toEqual([
      1,
      expect.stringMatching(
        /^postrider: the server with pid \d+ uses the data folder \S+\. Stop that one first; .* Or give this one a folder of its own with --data\.\n$/,
      ),
    ]);
    expect(second.stdout).not.toContain('stack');
    const sent = await request('POST', `${url}/api/v1/email`, { token, body: email() });
    expect(sent.status).toBe(200);
    await until('it is delivered', async () => {
      const answer = await request('GET', `${url}/api/v1/email/${sent.json.MessageID}`, { token });
      return answer.json.Status === 'Delivered';
    });
    serve.child.kill('SIGTERM');
    const { code, stdout } = await serve.ended;
    expect(code).toBe(0);
    const lines = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(new Set(lines.map(({ stream }) => stream))).toEqual(new Set(['service', 'mail']));
    expect(lines.map(({ msg }) => msg)).toEqual(
      expect.arrayContaining(['started', 'accepted', 'delivered', 'stopping', 'stopped']),
    );
    expect(stdout).not.toContain(token);
  });
});

describe('commands without a running server', () => {
  it('work on the stopped data folder, and leave it as they found it', async () => {
    const server = await startInstance(scope);
    const token = await addDomain(server, 'example.com');
    const id = await server.send({ Subject: 'kept' }, { token });
    await server.settled(id);
    await server.stop();
    const data = ['--data', server.folder];
    const messages = await command(['messages', ...data]);
    expect([messages.code, messages.stderr]).toEqual([0, expect.stringContaining('nothing is sent')]);
    expect(messages.stdout).toContain(id);
    expect((await command(['domain', 'list', ...data])).stdout).toContain('example.com');
    const made = await command(['token', 'create', '--domain', 'example.com', ...data]);
    expect(made.code).toBe(0);
    const again = await startInstance(scope, { folder: server.folder });
    expect((await again.call('GET', `/email/${id}`, { token: made.stdout.trim() })).status).toBe(200);
    expect((await again.call('GET', '/me', { token })).status).toBe(200);
  });

  it.each([
    'messages',
    'domain list',
    'sandbox inboxes',
    'sandbox list',
    'sandbox clear --all',
    'sandbox rules list',
    'sandbox rules clear',
    'suppress list',
    'suppress export',
    'suppress remove --domain example.com gone@example.net',
    'causes',
  ])('make no folder where its name was mistyped and they need what is there: %s', async (words) => {
    const folder = join(await temporaryFolder(scope), 'mistyped');
    const result = await command([...words.split(' '), '--data', folder]);
    expect([result.code, result.stdout]).toEqual([1, '']);
    expect(result.stderr).toContain(`no postrider data in ${folder}`);
    expect(existsSync(folder)).toBe(false);
  });

  // A file that can be moved.
  it.skipIf(isOnPostgres())('ask for the database where the server was given it by a flag', async () => {
    const server = await startInstance(scope);
    const elsewhere = join(await temporaryFolder(scope), 'elsewhere.db');
    await server.stop();
    renameSync(join(server.folder, 'postrider.db'), elsewhere);
    const queue = (environment = {}) => command(['queue', '--data', server.folder], environment);
    const { code, stderr } = await queue();
    expect([code, stderr]).toEqual([1, expect.stringContaining('name it as the key database')]);
    expect((await queue({ POSTRIDER_DATABASE: `sqlite:${elsewhere}` })).code).toBe(0);
  });

  it('say so where they keep a message, and where they are refused', async () => {
    const server = await startInstance(scope);
    await addDomain(server, 'example.com');
    await server.stop();
    const send = (from: string) => [
      ...['send', '--from', from, '--to', 'b@example.net', '--subject', 'Later', '--text', 'README.md'],
      ...['--data', server.folder],
    ];
    const kept = await command(send('a@example.com'));
    expect([kept.code, kept.stderr]).toEqual([0, expect.stringContaining('nothing is sent until one runs')]);
    const refused = await command(send('a@other.example'));
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringMatching(/no server runs on .*so start it first/),
    ]);
    const id = kept.stdout.trim();
    const again = await startInstance(scope, { folder: server.folder });
    expect((await again.settled(id)).Status).toBe('Delivered');
  });

  it.skipIf(isOnPostgres())(
    'do not say so where another process sends the mail of their database',
    async () => {
      const database = `sqlite:${join(await temporaryFolder(scope), 'shared.db')}`;
      const server = await startInstance(scope, { settings: { database, 'shared-store': 'true' } });
      const folder = await temporaryFolder(scope);
      await cp(join(server.folder, 'secret-key'), join(folder, 'secret-key'));
      const environment = { POSTRIDER_DATABASE: database, POSTRIDER_SHARED_STORE: 'true' };
      const queue = () => command(['queue', '--data', folder], environment);
      expect(await queue()).toMatchObject({ code: 0, stderr: '' });
      await server.stop();
      expect((await queue()).stderr).toContain('nothing is sent until one runs');
    },
  );

  it('warn of a token, user or suppression for a domain that was never added', async () => {
    const data = ['--data', await temporaryFolder(scope)];
    const token = await command(['token', 'create', '--domain', 'exmaple.com', ...data]);
    expect([token.code, token.stdout.split('.').length]).toEqual([0, 3]);
    expect(token.stderr).toContain('exmaple.com is not a domain of this server yet');
    const smtp = await command(['smtp', 'create', '--domain', 'exmaple.com', ...data]);
    expect([smtp.code, smtp.stderr]).toEqual([0, expect.stringContaining('exmaple.com is not a domain')]);
    const suppression = await command([
      'suppress',
      'add',
      '--domain',
      'exmaple.com',
      'a@example.net',
      ...data,
    ]);
    expect(suppression.stderr).toContain('exmaple.com is not a domain of this server yet');
    const silent = ['smtp', 'create', '--domain', 'example.com', '--no-notices', '--json', ...data];
    expect(JSON.parse((await command(silent)).stdout)).toMatchObject({ Notices: false });
  });

  it('name what does not exist, and what a value must be', async () => {
    const server = await startInstance(scope);
    const data = ['--data', server.folder];
    const missing: readonly (readonly [words: string, code: number, says: RegExp])[] = [
      ['domain add not_a_domain!', 2, /"not_a_domain!" is not a domain name such as example\.com$/m],
      ['token create --domain a.example,b.example', 2, /^postrider: --domain, value 1 is not a domain name/m],
      [
        'domain verify nothing.example',
        1,
        /there is no domain "nothing.example"; see: \S*postrider domain list/,
      ],
      ['queue --domain nothing!', 1, /^postrider: --domain must be a name such as example\.com$/m],
      ['cancel nothing', 1, /there is no message "nothing"; see: \S*postrider messages/],
      ['token rotate nothing --overlap 30d', 2, /--overlap "30d": use a duration such as 7d, .* to 7 days$/m],
      [
        'token create --domain a.example --expires-in 11y',
        2,
        /such as 90d, .* from 60 seconds to 3652 days$/m,
      ],
      ['webhook replay 1 --since 2026-11-29', 2, /--since "2026-11-29": use .* or a duration such as 2h$/m],
      ['token rotate nothing', 1, /there is no token "nothing"; see: \S*postrider token list/],
      ['message nothing', 1, /there is no message "nothing"; see: \S*postrider messages/],
      ['message a@b.example', 1, /see: \S*postrider messages --to a@b\.example/],
      ['template show nothing', 1, /there is no template "nothing"; see: \S*postrider template list/],
      ['webhook calls 7 --delivery 4711', 1, /webhook 7 has no call 4711; see: \S*postrider webhook calls 7/],
      ['sandbox list --limit many', 2, /Use a whole number from 1 to 100\./],
      ['sandbox show nothing', 1, /there is no captured mail "nothing"; see: \S*postrider sandbox list/],
      ['queue release nothing', 1, /no hold .*; see: \S*postrider queue holds/i],
      ['queue try nothing.example', 1, /no path or relay .*; see: \S*postrider queue path/i],
      ['sandbox rules add Bounce', 2, /name the sender domain with --domain/],
      [
        'sandbox rules add Nothing --domain example.com',
        2,
        /^postrider: <result> must be one of Deliver, Bounce, /m,
      ],
    ];
    for (const [words, code, says] of missing) {
      const refused = await command([...words.split(' '), ...data]);
      expect([refused.code, refused.stderr], words).toEqual([code, expect.stringMatching(says)]);
    }
  });

  it('end with 2 for each mistake in what was typed, whoever finds it, and with 1 for what files hold', async () => {
    const server = await startInstance(scope);
    await addDomain(server, 'example.com');
    const data = ['--data', server.folder];
    const mail = 'send --from hello@example.com --subject x --text README.md';
    const mistakes = [
      'send --from hello --to a@example.net --subject x --text README.md',
      `${mail} --to a`,
      `${mail} --to a@example.net --cc b`,
      `${mail} --to a@example.net --reply-to b`,
      `${mail} --to a@example.net --header From:x`,
      `${mail} --to a@example.net --send-at soon`,
      `${mail} --to a@example.net --expires-at soon`,
      'suppress add a --domain example.com',
      'transfer --to nothing',
      'transfer --from sqlite:one.db --to sqlite:other.db',
    ];
    const others = [
      `${mail} --to a@example.net --template nothing`,
      'send --from hello@example.com --to a@example.net --template nothing --variables README.md',
      'send --from hello@example.com --to a@example.net --subject x --text missing.txt',
    ];
    for (const words of mistakes) {
      expect([words, (await command([...words.split(' '), ...data])).code]).toEqual([words, 2]);
    }
    for (const words of others) {
      expect([words, (await command([...words.split(' '), ...data])).code]).toEqual([words, 1]);
    }
  });

  it('show the whole timeline of a message, however many recipients it has', async () => {
    const server = await startInstance(scope);
    const token = await addDomain(server, 'example.com');
    const to = Array.from({ length: 40 }, (_, i) => ({ email: `reader${i}@example.net` }));
    const id = await server.send({ To: to }, { token });
    await server.settled(id);
    const { stdout } = await command(['message', id, '--data', server.folder]);
    expect(stdout.match(/ accepted +reader\d+@/g)).toHaveLength(40);
    expect(stdout.match(/ (?:captured|delivered) +reader\d+@/g)).toHaveLength(40);
  });

  it('say in the words of the server what a thing lacks that does exist', async () => {
    const server = await startInstance(scope);
    const token = await addDomain(server, 'example.com');
    const data = ['--data', server.folder];
    const id = await server.send({}, { token });
    const copy = await command(['message', id, '--raw', '--to', 'nobody@example.net', ...data]);
    expect([copy.code, copy.stderr]).toEqual([1, expect.stringContaining('no recipient of that address')]);
    const setting = await command(['domain', 'set', 'example.com', 'RequireTsl=true', ...data]);
    expect([setting.code, setting.stderr]).toEqual([2, expect.stringContaining('did you mean RequireTls?')]);
    for (const [change, says] of [
      ['bulk=maybe', /bulk: .*; known: Subdomains, Retention, RequireTls, .*TrackingHost$/m],
      ['Quota.colour=1', /Quota has no colour; known: PerMinute, PerHour, PerDay$/m],
      ['Quota.perday=1', /Quota has no perday; did you mean PerDay\?$/m],
      ['Retention=5', /Retention must be an object with ContentDays, EventDays$/m],
      ['RequireTls=maybe', /RequireTls must be true or false$/m],
    ] as const) {
      const wrong = await command(['domain', 'set', 'example.com', change, ...data]);
      expect([change, wrong.code, wrong.stderr]).toEqual([change, 2, expect.stringMatching(says)]);
    }
  });

  it('refuse to start a server that may open too few files', async () => {
    const serve = `ulimit -n 45; exec ./bin/postrider serve --data ${await temporaryFolder(scope)}`;
    const { code, stderr } = await run('bash', ['-c', serve]).catch((error) => error);
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/^postrider: this process may open only 45 files .*ulimit/),
    ]);
  });

  it('end quietly where the reader of their output ended first', async () => {
    const { stdout, stderr } = await run('bash', ['-c', './bin/postrider serve --help | head -1']);
    expect([stdout, stderr]).toEqual(['Usage: postrider serve [options]\n', '']);
  });

  it.each([
    ['/nowhere.pem cannot be read', '[]', ['--tls-cert', '/nowhere.pem', '--tls-key', '/nowhere.pem']],
    ['shaping.json: line 1: is not JSON', 'no JSON', []],
  ])('log a start that an operator can mend without a stack: %s', async (why, shaping, flags) => {
    const folder = await temporaryFolder(scope);
    await writeFile(join(folder, 'shaping.json'), shaping);
    const serve = ['serve', '--http', '127.0.0.1:0', '--data', folder, ...flags];
    const { code, stdout } = await startCommand(scope, serve).ended;
    const last = JSON.parse(stdout.trim().split('\n').at(-1) ?? '');
    expect([code, last]).toEqual([
      1,
      {
        level: 'error',
        time: last.time,
        stream: 'service',
        reason: expect.stringContaining(why),
        msg: 'could not start',
      },
    ]);
  });

  it('make a new folder usable: a domain and a token before the first start', async () => {
    const folder = join(await temporaryFolder(scope), 'new');
    expect((await command(['domain', 'add', 'example.com', '--verified', '--data', folder])).code).toBe(0);
    const token = await command(['token', 'create', '--domain', 'example.com', '--data', folder]);
    const server = await startInstance(scope, { folder });
    expect(await server.send({}, { token: token.stdout.trim() })).toMatch(/-/);
  });
});

describe('a server that ended badly', () => {
  it('killed outright leaves nothing that stops commands or the next start', async () => {
    const folder = await temporaryFolder(scope);
    const dev = startCommand(scope, ['dev', '--http', '127.0.0.1:0', '--data', folder]);
    await until('it is up', () => dev.stdout().includes('Ctrl-C stops'));
    const note = JSON.parse(await readFile(join(folder, 'server.json'), 'utf8'));
    process.kill(note.pid, 'SIGKILL');
    await dev.ended;
    const list = await command(['messages', '--data', folder]);
    expect([list.code, list.stdout.trim()]).toEqual([0, 'No messages.']);
    const again = await startInstance(scope, { folder });
    expect((await again.call('GET', '/me')).status).toBe(200);
  });

  it('has no token sent to the program that has taken its port', async () => {
    const server = await startInstance(scope);
    const note = JSON.parse(await readFile(join(server.folder, 'server.json'), 'utf8'));
    const asked: string[] = [];
    const other = createHttpServer(({ url = '', headers }, response) => {
      asked.push(`${url} ${headers.authorization ?? ''}`);
      // It asks the server itself, which listens elsewhere, for the proof.
      void fetch(`${note.url}${url}`, { headers: headers as Record<string, string> }).then(async (answer) =>
        response.writeHead(answer.status, [...answer.headers].flat()).end(await answer.text()),
      );
    });
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    try {
      const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
      await writeFile(join(server.folder, 'server.json'), JSON.stringify({ ...note, url }));
      await command(['messages', '--data', server.folder]);
    } finally {
      await new Promise((resolve) => other.close(resolve).closeAllConnections());
    }
    expect(asked).toEqual(['/healthz ']);
  });

  it('is named by the next start, and an orderly stop is not', async () => {
    const folder = await temporaryFolder(scope);
    const dev = startCommand(scope, ['dev', '--http', '127.0.0.1:0', '--data', folder]);
    await until('it is up', () => dev.stdout().includes('Ctrl-C stops'));
    process.kill(JSON.parse(await readFile(join(folder, 'server.json'), 'utf8')).pid, 'SIGKILL');
    await dev.ended;
    const tells = async () => {
      const server = await startInstance(scope, { folder });
      await server.stop();
      return server.logs.some(({ msg }) => msg.startsWith('the last run ended without stopping'));
    };
    expect([await tells(), await tells()]).toEqual([true, false]);
  });

  it.skipIf(isOnPostgres())(
    'is not named where the last run was of a version that did not write down its end',
    async () => {
      const folder = await temporaryFolder(scope);
      await (await startInstance(scope, { folder })).stop();
      const db = new DatabaseSync(join(folder, 'postrider.db'));
      db.exec('UPDATE node SET ended_at = NULL, schema_number = 230');
      db.close();
      const server = await startInstance(scope, { folder });
      expect(server.logs.filter(({ msg }) => msg.startsWith('the last run ended'))).toEqual([]);
    },
  );

  it.each([
    ['the store of its folder', () => []],
    ['a database that a flag named', (other: string) => ['--database', `sqlite:${other}/own.db`]],
  ])('that hangs but holds %s is named by the command, with exit code 1', async (_, flags) => {
    const folder = await temporaryFolder(scope);
    const more = flags(await temporaryFolder(scope));
    const dev = startCommand(scope, ['dev', '--http', '127.0.0.1:0', '--data', folder, ...more]);
    await until('it is up', () => dev.stdout().includes('Ctrl-C stops'));
    const note = JSON.parse(await readFile(join(folder, 'server.json'), 'utf8'));
    process.kill(note.pid, 'SIGSTOP');
    try {
      const list = await command(['messages', '--data', folder]);
      expect(list.code).toBe(1);
      expect(list.stderr).toContain(`postrider: the server with pid ${note.pid} uses the data folder`);
      expect(list.stderr.split('\n').length).toBeLessThan(5);
      expect((await command(['domain', 'add', 'a.example', '--data', folder])).stderr).toBe(list.stderr);
      const { stderr } = await command(['config', '--data', folder]);
      expect(stderr).toContain(`the server with pid ${note.pid}, on ${folder}, does not answer this command`);
    } finally {
      process.kill(note.pid, 'SIGCONT');
    }
  });

  it.runIf(spawnSync('unshare', ['-n', 'true']).status === 0)(
    'is not said to hang by a command without its network, which says where to give it',
    async () => {
      const folder = await temporaryFolder(scope);
      const dev = startCommand(scope, ['dev', '--http', '127.0.0.1:0', '--data', folder]);
      await until('it is up', () => dev.stdout().includes('Ctrl-C stops'));
      const { pid } = JSON.parse(await readFile(join(folder, 'server.json'), 'utf8'));
      const alone = (words: string) =>
        spawnSync('unshare', ['-n', './bin/postrider', words, '--data', folder], { encoding: 'utf8' }).stderr;
      for (const words of ['messages', 'config']) {
        const said = alone(words);
        expect(said).toContain(`the server with pid ${pid}`);
        expect(said).toContain(`cannot be reached: it is in another network namespace than this command`);
        expect(said).toContain(`nsenter --net --target ${pid}`);
        expect(said).not.toContain('KILL');
      }
    },
  );

  it('has no other process named that has its number, as outside of its container', async () => {
    const server = await startInstance(scope);
    const note = join(server.folder, 'server.json');
    // It has a number that is taken here, and does not answer at that address.
    const elsewhere = { url: 'http://127.0.0.1:1', pid: process.ppid };
    await writeFile(note, JSON.stringify({ ...JSON.parse(await readFile(note, 'utf8')), ...elsewhere }));
    const data = ['--data', server.folder];
    for (const words of [['messages'], ['serve', '--http', '127.0.0.1:0'], ['config']]) {
      const { stderr } = await command([...words, ...data]);
      expect(stderr).not.toContain(`pid ${process.ppid}`);
      expect(stderr).toMatch(
        words[0] === 'config' ? /no server answers on / : /is in use by another postrider/,
      );
    }
  });

  it('is not started twice over one folder, nor on a port that is taken', async () => {
    const server = await startInstance(scope);
    const handlers = () => ['SIGTERM', 'SIGINT', 'SIGHUP'].map((signal) => process.listenerCount(signal));
    const before = handlers();
    const second = await command([
      'serve',
      '--http',
      '127.0.0.1:0',
      '--route',
      'sandbox',
      '--data',
      server.folder,
    ]);
    expect(second.code).toBe(1);
    expect(handlers()).toEqual(before);
    expect(second.stderr).toContain(`the server with pid ${process.pid} uses the data folder`);
    expect((await server.call('GET', '/me')).status).toBe(200);

    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const { port } = other.address() as AddressInfo;
    const used = `127.0.0.1:${port}`;
    const ports: readonly [string, ...string[]][] = [
      ['http', 'submission', 'submission-tls'],
      ['submission-tls', 'http', 'submission'],
    ];
    for (const [key, ...free] of ports) {
      const folder = await temporaryFolder(scope);
      const others = free.flatMap((name) => [`--${name}`, '127.0.0.1:0']);
      const taken = await command(['dev', `--${key}`, used, ...others, '--data', folder]);
      expect(taken.code).toBe(1);
      expect(taken.stderr).toContain(`${used} is already in use`);
      expect(taken.stderr).toContain(`--${key} 127.0.0.1:${port + 1}`);
    }
    other.close();
  });
});

describe('the launcher that stays beside its server', () => {
  it('takes the server along when it is killed', async () => {
    const folder = await temporaryFolder(scope);
    const launcher = spawn(
      process.execPath,
      [
        ...['--import', 'data:text/javascript,process.execve=undefined', 'bin/postrider', 'dev'],
        ...['--http', '127.0.0.1:0', '--submission', 'off', '--data', folder],
      ],
      { stdio: 'ignore' },
    );
    const pid = await until('the server has started', async () => {
      const note = await readFile(join(folder, 'server.json'), 'utf8').catch(() => null);
      return note === null || note === '' ? null : (JSON.parse(note).pid as number);
    });
    expect(pid).not.toBe(launcher.pid);
    launcher.kill('SIGKILL');
    // As it ends by SIGTERM: what it wrote down is gone.
    await until('the server has ended', () => !existsSync(join(folder, 'server.json')));
  });
});

describe('a server that is paused', () => {
  it('is named by the commands, which say that it does not answer and how to end it', async () => {
    const folder = await temporaryFolder(scope);
    const { child } = startCommand(scope, ['serve', '--http', '127.0.0.1:0', '--data', folder]);
    await until('the server has started', () => existsSync(join(folder, 'server.json')));
    child.kill('SIGSTOP');
    const asked = await command(['status', '--data', folder]);
    child.kill('SIGCONT');
    expect(asked.code).toBe(1);
    expect(asked.stderr).toMatch(
      new RegExp(
        `the server with pid ${child.pid} .* does not answer.*starting or stopping.*kill -KILL ${child.pid}`,
      ),
    );
    const early = await command(['status', '--data', folder]);
    expect([early.code, early.stdout]).toEqual([
      0,
      expect.stringMatching(/^Nothing is known to need attention\./),
    ]);
  });
});

describe.skipIf(process.getuid?.() !== 0)('a server that root runs', () => {
  it('leaves the files with the account of the data folder', async () => {
    const folder = await temporaryFolder(scope);
    await chown(folder, 65_534, 65_534);
    const { child, ended, stderr } = startCommand(scope, [
      'serve',
      '--http',
      '127.0.0.1:0',
      '--data',
      folder,
    ]);
    const ownersOf = () =>
      Promise.all(readdirSync(folder).map(async (name) => (await stat(join(folder, name))).uid));
    await until('it listens', () => stderr().includes('listens on'));
    expect(new Set(await ownersOf())).toEqual(new Set([65_534]));
    child.kill('SIGTERM');
    await ended;
    expect(new Set(await ownersOf())).toEqual(new Set([65_534]));
  });
});

describe('a command whose output cannot be written', () => {
  it('says why in one line', async () => {
    const full = openSync('/dev/full', 'w');
    scope.defer(async () => closeSync(full));
    const { status, stderr } = spawnSync('bin/postrider', ['doctor', '--help'], {
      stdio: ['ignore', full, 'pipe'],
      encoding: 'utf8',
    });
    expect(stderr).toBe('postrider: the output cannot be written: the disk is full (df -h, df -i)\n');
    expect(status).toBe(1);
  });
});

describe('a server whose log cannot be written', () => {
  it('starts, works and stops as any other', async () => {
    const folder = await temporaryFolder(scope);
    const full = openSync('/dev/full', 'w');
    scope.defer(async () => closeSync(full));
    const server = spawn(
      'bin/postrider',
      ['serve', '--http', '127.0.0.1:0', '--route', 'sandbox', '--data', folder],
      {
        stdio: ['ignore', full, full],
      },
    );
    const ended = new Promise((resolve) => server.once('exit', (...how) => resolve(how)));
    scope.defer(async () => {
      server.kill('SIGKILL');
      await ended;
    });
    await until('the server has started', () => existsSync(join(folder, 'server.json')));
    for (const name of ['one.example', 'two.example']) {
      const added = await command(['domain', 'add', name, '--verified', '--data', folder]);
      expect(added.code, added.stderr).toBe(0);
      // What the log did not take was tried in the meantime.
      await setTimeout(300);
    }
    expect(server.exitCode).toBeNull();
    server.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
  });
});

describe('postrider send', () => {
  it('sends one message through the API and prints its id', async () => {
    const server = await startInstance(scope);
    await addDomain(server, 'example.com');
    const folder = await temporaryFolder(scope);
    await writeFile(join(folder, 'body.html'), '<p>From a file</p>');
    await writeFile(join(folder, 'note.txt'), 'a note');
    const sent = await command([
      ...['send', '--from', 'a@example.com', '--to', 'b@example.net', '--subject', 'By hand'],
      ...['--html', join(folder, 'body.html'), '--attach', join(folder, 'note.txt'), '--data', server.folder],
    ]);
    expect(sent.code, sent.stderr).toBe(0);
    const facts = await server.settled(sent.stdout.trim());
    expect(facts.Status).toBe('Delivered');
    // Nothing listens at the proxy that the environment names.
    const proxy = { NODE_USE_ENV_PROXY: '1', HTTP_PROXY: 'http://127.0.0.1:1' };
    const listed = await startCommand(scope, ['messages', '--data', server.folder], proxy).ended;
    expect([listed.code, listed.stdout], listed.stderr).toEqual([0, expect.stringContaining('By hand')]);
    const none = await command([
      ...['send', '--from', 'a@other.example', '--to', 'b@example.net', '--subject', 'x'],
      ...['--html', join(folder, 'body.html'), '--data', server.folder],
    ]);
    expect(none.code).toBe(1);
    expect(none.stderr).toMatch(/other\.example/);
  });
});

describe('postrider send and messages', () => {
  it('send copies, answers elsewhere, headers and a key; find what is new', async () => {
    const server = await startInstance(scope);
    await addDomain(server, 'example.com');
    const data = ['--data', server.folder];
    const mail = [
      ...['send', '--from', 'Ada <a@example.com>', '--to', 'Bo <b@example.net>', '--cc', 'c@example.net'],
      ...['--bcc', 'd@example.net', 'e@example.net', '--reply-to', 'r@example.com', '--subject', 'All of it'],
      ...['--header', 'X-Campaign: may', '--header', 'X-Note: a: b', '--text', 'README.md'],
      ...['--idempotency-key', 'once', ...data],
    ];
    const first = await command(mail);
    expect([first.code, first.stderr]).toEqual([0, '']);
    expect((await command(mail)).stdout).toBe(first.stdout);
    const facts = await server.settled(first.stdout.trim());
    expect(facts.Recipients.map((each) => [(each as { Type?: string }).Type, each.Email])).toEqual([
      ['To', 'b@example.net'],
      ['CC', 'c@example.net'],
      ['BCC', 'd@example.net'],
      ['BCC', 'e@example.net'],
    ]);
    const { stdout: raw } = await command(['message', first.stdout.trim(), '--raw', ...data]);
    expect(raw).toMatch(/^From: Ada <a@example\.com>\r?$/m);
    expect(raw).toMatch(/^Reply-To: <?r@example\.com>?\r?$/m);
    expect(raw).toMatch(/^X-Note: a: b\r?$/m);
    const found = async (...more: string[]) => (await command(['messages', ...more, ...data])).stdout;
    expect(await found('--since', '1h')).toContain('All of it');
    expect(await found('--until', '1h')).toBe('No messages.\n');
    expect(await found('--to', 'nobody@example.net')).toContain('Mail that was not accepted is listed by: ');
    expect((await command(['messages', '--since', 'lately', ...data])).code).toBe(2);
    expect((await command([...mail, '--header', 'nothing'])).code).toBe(2);
  });
});

describe('hints', () => {
  it('name the next command as it is called here, with its data folder', async () => {
    const server = await startInstance(scope);
    const data = ['--data', server.folder];
    const here = './bin/postrider';
    const where = `--data ${server.folder}`;
    const added = await command(['domain', 'add', 'hints.example', ...data]);
    expect(added.stdout).toContain(`Then run: ${here} domain verify hints.example ${where}\n`);
    const unknown = await command(['domain', 'show', 'nobody.example', ...data]);
    expect(unknown.stderr).toContain(`see: ${here} domain list ${where}\n`);
    const mail = [
      '--from',
      'a@hints.example',
      '--to',
      'b@example.net',
      '--subject',
      'x',
      '--text',
      'README.md',
    ];
    const early = await command(['send', ...mail, ...data]);
    expect([early.code, early.stderr]).toEqual([
      1,
      expect.stringContaining(`run: ${here} domain verify hints.example ${where}`),
    ]);
    const nobody = await command(['messages', '--to', 'nobody@example.net', ...data]);
    expect(nobody.stdout).toContain(`listed by: ${here} refusals ${where}\n`);
    await command(['suppress', 'add', "o'neil@example.net", '--domain', 'hints.example', ...data]);
    const listed = await command(['messages', '--to', "o'neil@example.net", ...data]);
    expect(listed.stdout).toMatch(
      /^o'neil@example.net is on the suppression list of hints.example \(Manual/m,
    );
    expect(listed.stdout).toContain(
      `To send to it again: ${here} suppress remove 'o'\\''neil@example.net' --domain hints.example --reason Manual ${where}\n`,
    );
    const held = await command(['queue', 'hold', '--all', '--reason', 'x', ...data]);
    expect(held.stdout).toMatch(new RegExp(`Release it with: ${here} queue release [0-9a-f-]+ ${where}`));
    const holds = await command(['queue', 'holds', ...data]);
    expect(holds.stdout).toBe(held.stdout);
    const status = await command(['status', ...data]);
    expect([status.code, status.stdout]).toEqual([0, expect.stringContaining('warn  All mail is held: x.')]);
    expect(status.stdout).toMatch(new RegExp(`${here} queue release [0-9a-f-]+ ${where}`));
    expect(status.stdout).toMatch(
      new RegExp(`was not checked so far. To do it now: ${here} doctor ${where}`),
    );
    for (const wrong of [
      ['queue', 'release'],
      ['queue', 'hold', '--reason', 'x'],
      ['webhook', 'test', 'x'],
      ['webhook', 'replay', '1'],
      ['webhook', 'replay', '1', '--only-failed', '--delivery', '1'],
    ]) {
      const { code } = await command([...wrong, ...data]);
      expect([wrong, code]).toEqual([wrong, 2]);
    }
    expect((await command(['queue', 'release', '--all', ...data])).stdout).toBe('Released 1 hold.\n');
  });
});
