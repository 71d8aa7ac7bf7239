/** What a path records about itself for display: the last reply, the last reason to wait, recent recipient domains. */
import { BoundedMap } from '../../../lib/bounded-map.ts';
import type { Clock } from '../../../lib/clock.ts';
import { maskAddresses } from '../../../lib/log.ts';
import type { ReplyFacts } from '../outcome/outcome.ts';
import type { PathWord, WaitKind } from './state.ts';

export interface PathNotes {
  /** There was mail for this domain. */
  met(recipientDomain: string): void;
  /** `why`: a text, if the kind does not say it. */
  waits(kind: WaitKind, forMs?: number, why?: string): void;
  succeeded(reply: ReplyFacts): void;
  failed(detail: string): void;
  domains(): readonly string[];
  waiting(): { kind: WaitKind; why: string; until: number | null };
  lastSuccess(): PathWord | null;
  lastFailure(): PathWord | null;
}

const NOTHING: ReturnType<PathNotes['waiting']> = { kind: 'none', why: '', until: null };
const MAX_DOMAINS = 20;
const MAX_WORD = 512;

export function createPathNotes(clock: Pick<Clock, 'now'>): PathNotes {
  const domains = new BoundedMap<string, true>(MAX_DOMAINS);
  let waiting = NOTHING;
  let lastSuccess: PathWord | null = null;
  let lastFailure: PathWord | null = null;

  const word = (text: string): PathWord => ({
    at: clock.now(),
    text: maskAddresses(text).slice(0, MAX_WORD),
  });

  return {
    met(recipientDomain) {
      domains.set(recipientDomain, true);
    },
    waits(kind, forMs, why = '') {
      // Called before every message that is sent.
      if (kind === 'none') waiting = NOTHING;
      else waiting = { kind, why, until: forMs === undefined ? null : clock.now() + Math.ceil(forMs) };
    },
    succeeded({ code, text }) {
      lastSuccess = word(`${code} ${text}`);
    },
    failed(detail) {
      lastFailure = word(detail);
    },
    domains: () => [...domains.keys()],
    waiting: () => waiting,
    lastSuccess: () => lastSuccess,
    lastFailure: () => lastFailure,
  };
}
