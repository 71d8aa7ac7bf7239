/**
 * Configuration: reads every key of the table in src/config/ from flags, then the environment (also `NAME_FILE`), then
 * `postrider.json` in the data folder, then the default. Unknown keys and invalid values throw a `ConfigError` that
 * names the key, the value and the correction.
 */
import { existsSync, readFileSync } from 'node:fs';
import { hostname as systemHostname } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { type ListenAddress, meet, withoutUser } from './config/forms.ts';
import type { Mode } from './config/key-facts.ts';
import { type ConfigOrigin, shownValue } from './config/shown.ts';
import { CONFIG_KEYS, CONFIG_NAMES, type Config, type ConfigKey, environmentName } from './config/table.ts';
import { isKnownVariable } from './config/variables.ts';
import { isSourceOf, type Routing, readRouting } from './config-routing.ts';
import { didYouMean, probablyMeant } from './lib/closest.ts';
import { DATA_FILES } from './lib/data-files.ts';
import { syntaxFault } from './lib/json-lines.ts';
import { isJsonObject, type JsonObject } from './lib/json-object.ts';
import { isLoopbackHost } from './lib/loopback.ts';
import { isPostgresUrl, withPassword } from './lib/postgres-url.ts';

/** All problems found; `message` is ready to be shown. */
export class ConfigError extends Error {
  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.name = 'ConfigError';
  }
}

/** Structured values exist only in the file. */
const STRUCTURED: readonly string[] = ['sources', 'routes'];

export interface LoadedConfig {
  config: Config;
  origins: Readonly<Record<ConfigKey, ConfigOrigin>>;
  /** The part that only the file can contain. */
  routing: Routing;
}

/**
 * Reads the configuration. The keys of `flags` are config keys; `environment` is the process environment. Throws
 * ConfigError with every problem found.
 */
export function loadConfig(
  mode: Mode,
  flags: Readonly<Record<string, string | undefined>>,
  environment: Readonly<Record<string, string | undefined>>,
): LoadedConfig {
  const problems: string[] = [];
  const origins = {} as Record<ConfigKey, ConfigOrigin>;
  const config = {} as Config;

  // The data folder contains the file, so it is read first and cannot be set in the file.
  const data = pick('data', null);
  const file = readFile(join(resolve(data.text ?? '.'), DATA_FILES.config), problems);
  checkNames({ file, environment, flags }, problems);
  for (const name of CONFIG_NAMES) {
    const facts = CONFIG_KEYS[name];
    const origin = pick(name, file);
    origins[name] = origin;
    if (origin.text === null) {
      Object.assign(config, { [name]: null });
      continue;
    }
    const parsed = facts.parse(origin.text.trim());
    if (parsed.ok) Object.assign(config, { [name]: parsed.value });
    else {
      const fix = facts.shown === undefined ? withoutUser(parsed.fix) : parsed.fix;
      problems.push(`${whence(name, origin.source)} "${shownValue(name, origin.text)}": ${fix}`);
    }
  }
  if (mode === 'dev' && config.expose !== true) checkLoopback(config, origins, problems);
  checkPorts(config, problems);
  checkTls(mode, config, problems);
  checkSignIn(config, problems);
  const routing = readRouting(file, config.route ?? [], problems);
  checkSources(config, routing, problems);
  if (problems.length > 0) throw new ConfigError(problems);
  config.data = resolve(config.data);
  if (config['database-password'] !== null && isPostgresUrl(config.database))
    config.database = withPassword(config.database, config['database-password']);
  config.hostname ??= defaultHostname();
  return { config, origins, routing };

  function pick(name: ConfigKey, fromFile: JsonObject | null): ConfigOrigin {
    const facts = CONFIG_KEYS[name];
    const flag = flags[name];
    if (flag !== undefined) return { text: flag, source: 'flag' };
    const variable = environmentName(name);
    const direct = environment[variable];
    if (direct !== undefined && direct !== '') return { text: direct, source: 'environment' };
    const path = environment[`${variable}_FILE`];
    if (path !== undefined && path !== '') {
      try {
        return { text: readFileSync(path, 'utf8').trim(), source: 'environment' };
      } catch (cause) {
        // For a secret key, the value in the message could be the secret itself.
        const holdsSecret = facts.secret === true || facts.shown !== undefined;
        const { code, message } = cause as NodeJS.ErrnoException;
        const fix = code === 'EACCES' ? '; let the user that runs postrider read it' : '';
        problems.push(
          holdsSecret
            ? `${variable}_FILE: the file it names cannot be read (${code ?? 'not a path'})${fix}`
            : `${variable}_FILE "${path}": cannot be read (${message})${fix}`,
        );
      }
    }
    const value = fromFile?.[name];
    if (value !== undefined && name !== 'data') {
      const parts: readonly unknown[] = Array.isArray(value) ? value : [value];
      if (parts.every(isPlain)) return { text: parts.join(','), source: 'file' };
      problems.push(
        `postrider.json: ${name}: write a text, a number, true or false, or a list of them; for the default leave the key out`,
      );
    }
    // The name by which every program of PostgreSQL knows it.
    if (name === 'database-password' && environment.PGPASSWORD)
      return { text: environment.PGPASSWORD, source: 'environment' };
    return { text: facts.defaults[mode], source: 'default' };
  }
}

/** What a key of the file may be, or hold in a list: `null` would become the word "null", and with it a host name or a password. */
function isPlain(value: unknown): boolean {
  return typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value);
}

/** Reports unknown keys. */
function checkNames(
  { file, environment, flags }: Readonly<Record<'file' | 'environment' | 'flags', JsonObject>>,
  problems: string[],
): void {
  for (const name of Object.keys(file)) {
    const keys = [...CONFIG_NAMES, ...STRUCTURED];
    if (keys.includes(name)) continue;
    const hint = didYouMean(probablyMeant(name, keys)) || `; known keys: ${keys.join(', ')}`;
    problems.push(`postrider.json: unknown key "${name}"${hint}`);
  }
  for (const name of Object.keys(environment)) {
    if (isKnownVariable(name)) continue;
    const known = CONFIG_NAMES.map(environmentName).flatMap((own) => [own, `${own}_FILE`]);
    problems.push(`${name}: no such key${didYouMean(probablyMeant(name, known))}`);
  }
  for (const name of Object.keys(flags)) {
    if (!(name in CONFIG_KEYS)) problems.push(`--${name}: unknown configuration key`);
  }
}

/** The development server asks for no login, so it listens on loopback only. */
function checkLoopback(config: Config, origins: Record<ConfigKey, ConfigOrigin>, problems: string[]): void {
  for (const [name, usual] of [
    ['http', '127.0.0.1:8025'],
    ['submission', '127.0.0.1:1025'],
    ['submission-tls', '127.0.0.1:1465'],
    ['returns', '127.0.0.1:1026'],
  ] as const) {
    const listen: ListenAddress | null | undefined = config[name];
    if (listen !== undefined && listen !== null && !isLoopbackHost(listen.host)) {
      problems.push(
        `${whence(name, origins[name].source)} "${origins[name].text}": dev listens on loopback only; use ${usual}, or in a container add --expose on: a token is asked for then`,
      );
    }
  }
}

function checkPorts(config: Config, problems: string[]): void {
  const listeners: { key: ConfigKey; at: ListenAddress }[] = [];
  for (const [name, role] of [
    ['http', null],
    ['submission', 'submission'],
    ['submission-tls', 'submission'],
    ['returns', 'returns'],
  ] as const) {
    if (role !== null && config.roles?.includes(role) === false) continue;
    const at = config[name];
    if (at === null || at === undefined) continue;
    const other = listeners.find((one) => meet(one.at, at));
    if (other !== undefined) {
      const where =
        other.at.host === at.host
          ? `${at.host}:${at.port}`
          : `port ${at.port}, at ${other.at.host} and ${at.host}`;
      problems.push(`${other.key} and ${name} both name ${where}: give each a port of its own`);
    }
    listeners.push({ key: name, at });
  }
}

function checkTls(mode: Mode, config: Config, problems: string[]): void {
  if (mode === 'serve' && config['submission-starttls'] === false) {
    problems.push('submission-starttls is off: serve takes no password in the clear; leave it on');
  }
  if ((config['tls-cert'] === null) !== (config['tls-key'] === null)) {
    problems.push('tls-cert and tls-key belong together: set both, or neither for a self-signed certificate');
  }
  if ((config['http-certificate'] === null) !== (config['http-certificate-key'] === null)) {
    problems.push(
      'http-certificate and http-certificate-key belong together: set both, or neither for plain HTTP',
    );
  } else if (config['http-certificate'] !== null && config['public-url']?.startsWith('http://') === true) {
    problems.push('public-url begins with http://: with http-certificate it must begin with https://');
  }
}

function checkSources(config: Config, routing: Routing, problems: string[]): void {
  const nodeName = config['node-name'] ?? systemHostname();
  for (const [i, source] of routing.sources.entries())
    if (source.address === null && !config.ipv6 && isSourceOf(nodeName, source))
      problems.push(
        `postrider.json: sources[${i}]: "${source.id}" has an IPv6 address only, and the key ipv6 is off; set ipv6 to on, or give it an "address"`,
      );
}

function whence(name: ConfigKey, source: ConfigOrigin['source']): string {
  if (source === 'flag') return `--${name}`;
  if (source === 'environment') return environmentName(name);
  return `postrider.json: ${name}`;
}

/** The keys that belong together. An identity provider sends browsers back to one address, over https or within this machine. */
function checkSignIn(config: Config, problems: string[]): void {
  const url = config['public-url'] ?? null;
  if (config['oidc-issuer'] === null) {
    const others = (['oidc-client-id', 'oidc-client-secret', 'oidc-name'] as const).filter(
      (name) => typeof config[name] === 'string',
    );
    if (others.length > 0) problems.push(`${others.join(', ')}: set oidc-issuer, too`);
    return;
  }
  if (config['oidc-client-id'] === null) problems.push('oidc-issuer: set oidc-client-id, too');
  if (url === null || !(url.startsWith('https://') || isLoopbackHost(new URL(url).hostname))) {
    problems.push(
      'oidc-issuer: set public-url to the https:// address of the dashboard: the identity provider sends browsers back to it',
    );
  }
}

function readFile(path: string, problems: string[]): JsonObject {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    const choose = 'choose another folder with --data';
    if (code === 'ENOTDIR') problems.push(`${dirname(path)} is not a folder; ${choose}`);
    else if (code === 'EACCES')
      problems.push(
        `${existsSync(path) ? path : `the data folder ${dirname(path)}`}: permission denied; give it to the user that runs postrider (chown), run as the user that owns it, or ${choose}`,
      );
    else if (code !== 'ENOENT') problems.push(`${path}: ${(cause as Error).message}`);
    return {};
  }
  try {
    const value: unknown = JSON.parse(text);
    if (isJsonObject(value)) return value;
    problems.push(`${path}: must hold one JSON object`);
  } catch (cause) {
    if (text.trim() === '') problems.push(`${path}: is empty; remove it, or write {} into it`);
    else problems.push(`${path}: is not JSON${placeOf(text, cause)}`);
  }
  return {};
}

/** Where a JSON text breaks off. The parser's own message would quote the text, which may contain passwords. */
function placeOf(text: string, cause: unknown): string {
  const fault = syntaxFault(text, cause);
  if (fault === null) return ': it ends too early';
  return ` (line ${fault.line}, column ${fault.column}${fault.advice && `: ${fault.advice}`})`;
}

function defaultHostname(): string {
  const name = systemHostname().toLowerCase();
  return /^[a-z0-9.-]+$/.test(name) ? name : 'localhost';
}
