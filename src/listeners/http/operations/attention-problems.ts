/**
 * The problems that cause alerts, from the facts of `GET /attention`: the server, relays, failing sender domains, and
 * guard-rails that hold mail. Not included: single sites, holds made by people, warm-ups, and webhooks, which have
 * their own event.
 */
import type { Problem, Problems } from '../../../pipeline/alerts/alerts.ts';
import type { AttentionItem } from './attention-answer.ts';
import { MAX_OF_A_KIND } from './attention-answer.ts';
import { type AttentionDeps, gatherKinds } from './attention-items.ts';

const EVERYTHING = { mayDomains: true, mayWebhooks: false, isOperator: true } as const;

/** The problems now. */
export async function gatherProblems(deps: AttentionDeps): Promise<Problems> {
  const { kinds, examinedAt, asked } = await gatherKinds(deps, EVERYTHING);
  const cut = new Set(
    kinds.flatMap((items) => (items.length > MAX_OF_A_KIND ? items.map(({ Kind }) => Kind as string) : [])),
  );
  const found = new Map<string, Problem>();
  for (const item of kinds.flat()) {
    const problem = problemOf(item);
    if (problem !== null) found.set(`${problem.kind} ${problem.subject}`, problem);
  }
  return {
    items: [...found.values()],
    isOver({ kind, subject }) {
      if (found.has(`${kind} ${subject}`) || cut.has(kind)) return false;
      return kind !== 'server' || examinedAt !== null || asked.includes(subject);
    },
  };
}

/** null: nobody is alerted of it. */
function problemOf({ Kind, Severity, Subject, Message, Fix, Since, Command }: AttentionItem): Problem | null {
  const about = {
    message: Message,
    fix: Fix,
    since: Since === null ? null : Date.parse(Since),
    command: Command,
  };
  const named = (kind: string, subject: string) => ({ ...about, kind, subject });
  switch (Kind) {
    case 'relay':
    case 'domain':
    case 'server':
      return named(Kind, Subject);
    case 'guard-rail':
      return Severity === 'Failing' ? named(Kind, Subject) : null;
    default:
      return null;
  }
}
