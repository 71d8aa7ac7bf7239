/** The server itself, as the place System asks for it: checks, processes, warm-up, configuration, what was refused. */
import type {
  ConfigAnswer,
  Doctor,
  Domain,
  NodesAnswer,
  RefusalsAnswer,
  WarmupAnswer,
} from '../../src/client/api-types.ts';
import { call, everyItem, pageReader } from './call.ts';

const PAGE = 100;
/** Of the domains that are checked in one go. */
const MAX_DOMAIN_PAGES = 5;

/** By name; the first five hundred. */
export async function listDomainNames(signal: AbortSignal): Promise<readonly string[]> {
  return (await everyItem<Domain>('/domains', MAX_DOMAIN_PAGES, signal)).map((one) => one.Domain);
}

export async function checkServer(signal: AbortSignal): Promise<Doctor['Instance']> {
  return (await call<Doctor>('GET', '/doctor', { query: { Part: 'server' }, signal })).Instance;
}

export async function checkDomain(name: string, signal: AbortSignal): Promise<Doctor['Domains']> {
  const query = { Part: 'domains', Domain: name };
  return (await call<Doctor>('GET', '/doctor', { query, signal })).Domains;
}

export function getConfig(signal?: AbortSignal): Promise<ConfigAnswer> {
  return call('GET', '/config', { signal });
}

export const listNodes = pageReader<NodesAnswer>('/nodes', PAGE);
export const listWarmup = pageReader<WarmupAnswer>('/warmup', PAGE);
export const listRefusals = pageReader<RefusalsAnswer>('/refusals', PAGE);
