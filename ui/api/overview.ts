/** What the overview asks for: what needs attention, figures of events, and the facts of the first steps. */
import type {
  Attention,
  AttentionAction,
  ConfigAnswer,
  DomainList,
  Me,
  StatsAnswer,
  TokenList,
} from '../../src/client/api-types.ts';
import { ApiError, call, open, type Query } from './call.ts';
import { mayDo } from './me.ts';

export function getAttention(signal?: AbortSignal): Promise<Attention> {
  return call('GET', '/attention', { signal });
}

/** Does what helps. */
export async function act({ Method, Path, Body }: AttentionAction, leaving = false): Promise<void> {
  const hasBody = Object.keys(Body).length > 0;
  await open(Method, Path, { keepalive: leaving, ...(hasBody ? { body: Body } : {}) });
}

/** Figures, with how long the server took for them. */
export interface Measured {
  stats: StatsAnswer;
  tookMs: number;
}

export async function getStats(query: Query, signal?: AbortSignal): Promise<Measured> {
  const from = performance.now();
  const stats = await call<StatsAnswer>('GET', '/stats', { query, signal });
  return { stats, tookMs: performance.now() - from };
}

/** What the first steps are ticked by; null where the caller may not know. */
export interface FirstFacts {
  me: Pick<Me, 'Mode' | 'Command' | 'Scopes' | 'Operations'>;
  route: string | null;
  domains: DomainList['Items'] | null;
  hasToken: boolean | null;
  accepted: number | null;
  delivered: number | null;
}

const DAYS = 90;

export async function getFirstFacts(signal?: AbortSignal): Promise<FirstFacts> {
  const From = new Date(Date.now() - DAYS * 86_400_000).toISOString();
  const me = await call<Me>('GET', '/me', { signal });
  const [config, domains, tokens, counted] = await Promise.all([
    mayDo(me, 'admin', 'getConfig') ? orNull(call<ConfigAnswer>('GET', '/config', { signal })) : null,
    orNull(call<DomainList>('GET', '/domains', { query: { Limit: 100 }, signal })),
    mayDo(me, 'tokens:read')
      ? orNull(call<TokenList>('GET', '/tokens', { query: { Limit: 10 }, signal }))
      : null,
    orNull(getStats({ From }, signal)),
  ]);
  const counts = counted?.stats.Items[0]?.Counts;
  return {
    me,
    route: config?.Items.find(({ Key }) => Key === 'route')?.Value ?? null,
    domains: domains?.Items ?? null,
    hasToken: tokens === null ? null : tokens.Items.some(({ Scopes }) => !Scopes.includes('admin')),
    accepted: counts?.Accepted ?? null,
    delivered: counts?.Delivered ?? null,
  };
}

/** Null where the caller may not ask, or where the answer would be too large. */
async function orNull<Answer>(answer: Promise<Answer>): Promise<Answer | null> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof ApiError && (error.status === 403 || error.status === 422)) return null;
    throw error;
  }
}
