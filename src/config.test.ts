import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { parseDuration } from './config/forms.ts';
import { publicUrl } from './config/public-url.ts';
import { configRows, shownValue } from './config/shown.ts';
import { CONFIG_KEYS } from './config/table.ts';
import { ConfigError, loadConfig } from './config.ts';

const folder = mkdtempSync(join(tmpdir(), 'postrider-config-'));
afterAll(() => rmSync(folder, { recursive: true }));

function problemOf(load: () => unknown): string {
  try {
    load();
  } catch (cause) {
    expect(cause).toBeInstanceOf(ConfigError);
    return (cause as Error).message;
  }
  throw new Error('it was accepted');
}

describe('configuration', () => {
  it('takes flags before the environment before the file before the default', () => {
    writeFileSync(
      join(folder, 'postrider.json'),
      JSON.stringify({ 'mx-port': 3000, hostname: 'file.example.com' }),
    );
    const data = { POSTRIDER_DATA: folder };
    expect(loadConfig('serve', {}, data).config['mx-port']).toBe(3000);
    const { config, origins } = loadConfig(
      'serve',
      { 'mx-port': '5' },
      { ...data, POSTRIDER_HOSTNAME: 'env.example.com' },
    );
    expect(config['mx-port']).toBe(5);
    expect(config.hostname).toBe('env.example.com');
    expect(origins['mx-port'].source).toBe('flag');
    expect(origins.hostname.source).toBe('environment');
    expect(origins.route).toEqual({ text: 'mx', source: 'default' });
  });

  it('reads a secret from the file that NAME_FILE points to', () => {
    const path = join(folder, 'route');
    writeFileSync(path, 'smtp://user:pass@relay.example.com:587\n');
    const { config } = loadConfig('serve', {}, { POSTRIDER_DATA: folder, POSTRIDER_ROUTE_FILE: path });
    expect(config.route).toEqual([
      {
        kind: 'relay',
        host: 'relay.example.com',
        port: 587,
        implicitTls: false,
        auth: { user: 'user', password: 'pass' },
      },
    ]);
  });

  it('names the key, the value and the fix for every bad value at once', () => {
    const message = problemOf(() =>
      loadConfig(
        'serve',
        {},
        { POSTRIDER_DATA: join(folder, 'none'), POSTRIDER_MX_PORT: 'x', POSTRIDER_RETRY: '1s,soon' },
      ),
    );
    expect(message).toContain('POSTRIDER_MX_PORT "x": use a whole number from 1 to 65535');
    expect(message).toContain('POSTRIDER_RETRY "1s,soon": "soon" is not a duration');
  });

  it('takes networks and addresses, and nothing that only looks like one', () => {
    const of = (list: string) =>
      loadConfig('serve', { 'trusted-proxies': list }, {}).config['trusted-proxies'];
    expect(of('10.0.0.0/8, 192.0.2.1,::1/128,2001:db8::')).toEqual([
      ...['10.0.0.0/8', '192.0.2.1', '::1/128', '2001:db8::'],
    ]);
    for (const wrong of [
      '1',
      '1e3',
      'cafe',
      '10.0.0/8',
      '300.1.1.1',
      '10.0.0.0/33',
      '::1/129',
      '10.0.0.0/',
      '1::2::3',
      'fe80::1%1',
    ])
      expect(() => of(`127.0.0.1,${wrong}`)).toThrow(`"${wrong}" is not a network`);
  });

  it('takes one port for two listeners of which the roles of the process open one', () => {
    const of = (roles: string) =>
      loadConfig('serve', { roles, submission: '0.0.0.0:25', returns: '0.0.0.0:25' }, {});
    expect(of('http,returns').config.returns).toMatchObject({ port: 25 });
    expect(of('http,submission').config.submission).toMatchObject({ port: 25 });
    expect(() => of('submission,returns')).toThrow('submission and returns both name 0.0.0.0:25');
  });

  it('takes names of nodes that a path or a log line can show', () => {
    const named = (name: string) => loadConfig('serve', { 'node-name': name }, {}).config['node-name'];
    expect(named('mail-1.example.com')).toBe('mail-1.example.com');
    for (const name of ['-x', 'a b', 'a/b', 'x'.repeat(65)]) expect(() => named(name)).toThrow('node-name');
  });

  it.each([
    ['{"rout": "mx"}', /unknown key "rout"; did you mean route\?$/],
    ['{"listeners": "mx"}', /unknown key "listeners"; known keys: data,.* sources/],
    ['', /postrider\.json: is empty; remove it, or write \{\} into it$/],
    ['{ "route": "mx",\n', /postrider\.json: is not JSON: it ends too early$/],
    ['{\n"route": mx }', /postrider\.json: is not JSON \(line 2, column 10: texts stand in .*\)$/],
    ['{"hostname": null}', /postrider\.json: hostname: write a text, .*; for the default leave the key out$/],
    ['{"database-password": {"a": "b"}}', /postrider\.json: database-password: write a text, /],
    ['{"blocked-extensions": ["exe", null]}', /postrider\.json: blocked-extensions: write a text, /],
    ['{"rate-limit": 1e999}', /postrider\.json: rate-limit: write a text, a number, /],
    ['{"dns": [["127.0.0.1"]]}', /postrider\.json: dns: write a text, /],
    [
      '{"http": "127.0.0.1:8025", "returns": "0.0.0.0:8025"}',
      /^http and returns both name port 8025, at 127\.0\.0\.1 and 0\.0\.0\.0: give each a port of its own$/,
    ],
    ['{"http": "[::]:8025", "returns": "127.0.0.1:8025"}', /^http and returns both name port 8025, /],
    [
      '{"http": "127.0.0.1:8025", "returns": "127.0.0.1:8025"}',
      /^http and returns both name 127\.0\.0\.1:8025: give each a port of its own$/,
    ],
  ])('refuses a file with %j, and says what to write', (text, says) => {
    const other = mkdtempSync(join(folder, 'x-'));
    writeFileSync(join(other, 'postrider.json'), text);
    expect(problemOf(() => loadConfig('serve', { data: other }, {}))).toMatch(says);
  });

  it('never shows the password of a relay, not even in an error', () => {
    expect(shownValue('route', 'mx,smtp://u:p@ss@host')).toBe('mx,smtp://(secret)@host');
    for (const route of ['smtp://u:hun,ter2@host', 'mx,smtp://u:hunter2,hunter3', 'smtp://u:hunter2%@host']) {
      const problem = problemOf(() => loadConfig('serve', { route }, {}));
      expect(problem).toContain('--route');
      expect(problem).toContain('percent-encoded');
      expect(problem).toContain('%40 for @');
      expect(problem).not.toMatch(/hun|ter[23]/);
    }
    expect(shownValue('route', 'smtp://[::1]:25,smtps://host,sandbox')).toBe(
      'smtp://[::1]:25,smtps://host,sandbox',
    );
    const message = problemOf(() => loadConfig('serve', { route: 'smtp://u:hunter2@host/path' }, {}));
    expect(message).not.toContain('hunter2');
    expect(problemOf(() => loadConfig('serve', { 'secret-key': 'abc' }, {}))).toContain('"(secret)"');
  });

  it('refuses a login at a relay with half of it missing, and shows neither half', () => {
    const refusal = (route: string) => problemOf(() => loadConfig('serve', { route }, {}));
    const fix = 'write smtp://user:password@host:port, or smtp://host:port if the relay needs no login';
    for (const route of ['smtp://jane@relay.example:587', 'smtp://jane:@relay.example:587']) {
      expect(refusal(route)).toBe(
        `--route "smtp://(secret)@relay.example:587": the login has a user and no password; ${fix}`,
      );
    }
    expect(refusal('smtp://:hunter2@relay.example:587')).toBe(
      `--route "smtp://(secret)@relay.example:587": the login has a password and no user; ${fix}`,
    );
  });

  it('takes a database of PostgreSQL, and its password from wherever secrets may stand', () => {
    const url = 'postgres://mail@db.example.com/postrider';
    const file = join(folder, 'password');
    writeFileSync(file, 'hunter2\n');
    const database = (environment: Record<string, string>) =>
      loadConfig('serve', { data: join(folder, 'none'), database: url }, environment).config.database;
    expect(database({})).toBe(url);
    for (const environment of [
      { POSTRIDER_DATABASE_PASSWORD: 'hunter2' },
      { POSTRIDER_DATABASE_PASSWORD_FILE: file },
      { PGPASSWORD: 'hunter2' },
      { PGPASSWORD: 'hunter1', POSTRIDER_DATABASE_PASSWORD: 'hunter2' },
    ]) {
      expect(database(environment)).toBe('postgres://mail:hunter2@db.example.com/postrider');
    }
    const settings = { database: url, 'database-password': 'a/b' };
    expect(loadConfig('serve', settings, {}).config.database).toContain('mail:a%2Fb@db');
    const loaded = loadConfig('serve', { database: 'postgres://u:hunter2@h/d' }, { PGPASSWORD: 'hunter2' });
    expect(JSON.stringify(configRows('serve', loaded))).not.toContain('hunter2');
    const problem = problemOf(() => loadConfig('serve', { database: 'postgres://u:hun/ter2@h/d' }, {}));
    expect(problem).toMatch(
      /^--database "postgres:\/\/\(hidden\)": use postgres:\/\/user:password@host.*%2F/,
    );
  });

  it('shows no secret in an error, however it is spelt and wherever it stands', () => {
    const routes = [
      'smtp:u:hunter2@host',
      'smtp:/u:hunter2@host',
      'smtp//u:hunter2@host',
      'smtp://u:hunter2',
      'SMTP://u:hunter2@ho st',
      'u:hunter2@host:25',
      'stmp://u:hunter2@host',
      'smtp://host?password=hunter2',
      'smtp://host/hunter2',
      'mx,smtps:u:hunter2@host',
      'smtp://u:hunter2@a,sandbox@b',
    ];
    for (const text of routes) {
      for (const read of [
        () => loadConfig('serve', { route: text }, {}),
        () => loadConfig('serve', {}, { POSTRIDER_ROUTE: text }),
        () => loadConfig('serve', {}, { POSTRIDER_ROUTE_FILE: text }),
      ]) {
        expect(problemOf(read), text).not.toContain('hunter2');
      }
    }
    // A URL with a password in any key that takes none of it.
    for (const name of Object.keys(CONFIG_KEYS)) {
      if (name === 'data') continue;
      for (const text of ['postgres://u:hunter2@host/db', 'https://u:hunter2@host /']) {
        try {
          loadConfig('serve', { [name]: text }, {});
        } catch (error) {
          expect((error as Error).message, name).not.toContain('hunter2');
        }
      }
    }
    const zones = () => loadConfig('serve', { 'doctor-dnsbl': 'hunter2/zen.dq.spamhaus.net' }, {});
    expect(problemOf(zones)).not.toContain('hunter2');
    const key = () => loadConfig('serve', {}, { POSTRIDER_SECRET_KEY_FILE: 'hunter2' });
    expect(problemOf(key)).toContain('POSTRIDER_SECRET_KEY_FILE: the file it names cannot be read');
    expect(problemOf(key)).not.toContain('hunter2');
  });

  it('quotes nothing of a postrider.json that is no JSON, and says where it breaks off', () => {
    const data = mkdtempSync(join(folder, 'broken-'));
    writeFileSync(join(data, 'postrider.json'), '{\n  "route": "smtp://u:hunter2@host"\n  "retry": "1s"\n}');
    const problem = problemOf(() => loadConfig('serve', { data }, {}));
    expect(problem).not.toContain('hunter2');
    expect(problem).toContain('line 3, column 3');
  });

  it('has a default that its own parser takes, for every key and mode', () => {
    for (const [name, facts] of Object.entries(CONFIG_KEYS)) {
      for (const text of Object.values(facts.defaults)) {
        if (text !== null) expect(facts.parse(text).ok, `${name} "${text}"`).toBe(true);
      }
    }
  });

  it('takes an identity provider over https with a client id, for a server whose address is known', () => {
    const file = { POSTRIDER_DATA: folder };
    const problem = (settings: Record<string, string>) =>
      problemOf(() => loadConfig('serve', settings, file));
    const issuer = { 'oidc-issuer': 'https://login.example.com/realms/staff' };
    const whole = { ...issuer, 'oidc-client-id': 'postrider', 'public-url': 'https://mail.example.com' };
    expect(problem({ 'oidc-client-id': 'postrider' })).toMatch(/set oidc-issuer/);
    expect(problem({ ...whole, 'oidc-client-id': '' })).toMatch(/oidc-client-id/);
    for (const url of ['', 'http://mail.example.com'])
      expect(problem({ ...whole, 'public-url': url }), url).toMatch(/public-url/);
    for (const wrong of ['http://login.example.com', 'login.example.com', 'https://a:b@login.example.com'])
      expect(problem({ ...whole, 'oidc-issuer': wrong }), wrong).toMatch(/as the provider writes it/);
    expect(problem({ ...whole, 'oidc-require': 'groups' })).toMatch(/use claim=value/);
    const { config } = loadConfig('serve', { ...whole, 'oidc-require': 'groups=a=b, hd=c' }, file);
    expect(config['oidc-require']).toEqual([
      { claim: 'groups', value: 'a=b' },
      { claim: 'hd', value: 'c' },
    ]);
  });

  it('takes a certificate of the API with its key, for an address that begins with https', () => {
    const file = { POSTRIDER_DATA: folder };
    const certificate = { 'http-certificate': 'a.pem' };
    expect(problemOf(() => loadConfig('serve', certificate, file))).toMatch(/belong together/);
    const both = { ...certificate, 'http-certificate-key': 'a.key' };
    const plain = { ...both, 'public-url': 'http://mail.example.com' };
    expect(problemOf(() => loadConfig('serve', plain, file))).toMatch(/must begin with https/);
    const { config } = loadConfig('serve', { ...both, hostname: 'mail.example.com' }, file);
    expect(publicUrl(config, { host: '0.0.0.0', port: 443 })).toBe('https://mail.example.com');
    expect(publicUrl(config, { host: '0.0.0.0', port: 8443 })).toBe('https://mail.example.com:8443');
    const off = { 'http-certificate': 'off', 'http-certificate-key': 'off' };
    expect(loadConfig('serve', off, file).config['http-certificate']).toBeNull();
  });

  it.each([
    ['250ms', 250],
    ['10s', 10_000],
    ['5min', 300_000],
    ['1.5h', 5_400_000],
    ['3d', 259_200_000],
    ['10', null],
    ['-1s', null],
    ['', null],
  ])('reads the duration %s as %s ms', (text, ms) => {
    expect(parseDuration(text)).toBe(ms);
  });

  it('says of a data folder that is a file that it is one', () => {
    const data = join(folder, 'a-file');
    writeFileSync(data, '');
    expect(() => loadConfig('serve', { data }, {})).toThrow(
      `${data} is not a folder; choose another folder with --data`,
    );
  });

  it('makes the public URL from where it listens unless one is set', () => {
    const { config } = loadConfig('dev', {}, {});
    expect(publicUrl(config, { host: '127.0.0.1', port: 80 })).toBe('http://127.0.0.1:80');
    expect(publicUrl(config, { host: '::1', port: 80 })).toBe('http://[::1]:80');
    const set = loadConfig('dev', { 'public-url': 'https://mail.example.com/' }, {}).config;
    expect(publicUrl(set, { host: '127.0.0.1', port: 80 })).toBe('https://mail.example.com');
  });
});

describe('a variable of ours that no key has', () => {
  const load = (environment: Record<string, string>) => () => loadConfig('serve', {}, environment);

  it.each([
    ['POSTRIDER_HOSTNAMES', 'POSTRIDER_HOSTNAME'],
    ['POSTRIDER_RATELIMIT', 'POSTRIDER_RATE_LIMIT'],
    ['POSTRIDER_SECRET_KEY_FILES', 'POSTRIDER_SECRET_KEY_FILE'],
    ['POSTRIDER_', 'POSTRIDER_'],
  ])('stops the start: %s', (name, closest) => {
    expect(load({ [name]: 'x' })).toThrow(`${name}: no such key; did you mean ${closest}`);
  });

  it('is not what an orchestrator sets for a service of our name, nor what others are called', () => {
    const environment = {
      POSTRIDER_SERVICE_HOST: '10.0.0.1',
      POSTRIDER_SERVICE_PORT_HTTP: '8025',
      POSTRIDER_PORT: 'tcp://10.0.0.1:8025',
      POSTRIDER_PORT_8025_TCP_ADDR: '10.0.0.1',
      POSTRIDER_TOKEN: 'x',
      POSTRIDER_URL: 'http://127.0.0.1:8025',
      POSTRIDERS: 'x',
      PATH: '/',
    };
    expect(load(environment)).not.toThrow();
  });
});
