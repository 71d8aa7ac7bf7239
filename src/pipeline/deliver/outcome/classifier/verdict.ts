/**
 * The meaning of a reply or failure for a delivery: the verdict, from the table of categories, and its explanation in
 * sentences. Suppression is decided only here: by a reply that is about the recipient, with high confidence, at a stage
 * where receivers refuse recipients.
 */
import type { BounceScope } from '../../../../model/bounce.ts';
import { type Category, categoryFacts, SUPPRESSING } from './categories.ts';
import type { Action, CategoryFacts, GiveUp, Suppress } from './handling.ts';

/** The stages of a conversation at which a reply or failure can occur, in order; `local`: our own finding. */
export const STAGES = [
  'dns',
  'connect',
  'banner',
  'ehlo',
  'starttls',
  'tls',
  'auth',
  'mail',
  'rcpt',
  'data',
  'body',
  'dot',
  'local',
] as const;
export type Stage = (typeof STAGES)[number];

export type Confidence = 'high' | 'medium' | 'low';

export interface Verdict {
  category: Category;
  scope: BounceScope;
  action: Action;
  /** Wait of the category or rule, ms; null = the lane's schedule (the path's, for `path` and `defer`). */
  waitMs: number | null;
  /** A permanent reply that may change (full mailbox): `Transient` in the bounce object. */
  soft: boolean;
  suppress: Suppress;
  confidence: Confidence;
  /** What decided: id of a rule in rules.json, `learned`, `code:x.y.z`, `stage:…`, or `local`. */
  ruleId: string;
  /** Wait that the reply itself asks for, ms; null without one. */
  hintMs: number | null;
  giveUp: GiveUp | null;
}

/** The recipient is probably invalid, but the evidence is not enough to suppress it. */
export function isProbablyInvalid({ category, confidence, action, scope }: Verdict): boolean {
  return (
    category === 'recipient_invalid' &&
    confidence === 'medium' &&
    action === 'bounce' &&
    scope === 'recipient'
  );
}

interface VerdictParts {
  category: Category;
  /** Class 5 of the reply code. */
  permanent: boolean;
  stage: Stage;
  ruleId: string;
  scope?: BounceScope | undefined;
  confidence?: Confidence | undefined;
  waitMs?: number | null | undefined;
  hintMs?: number | null | undefined;
  /** The server closes the connection (421): a reply about the path stops the path. */
  closing?: boolean;
}

/** Stages before a message: every reply there is about the path, and is tried again. */
const PATH_STAGES: ReadonlySet<Stage> = new Set(STAGES.slice(0, STAGES.indexOf('mail')));
/** Stages at which receivers refuse recipients. */
const RECIPIENT_STAGES: ReadonlySet<Stage> = new Set(['rcpt', 'data', 'body', 'dot']);

/** Whether `stage` is before any command of a message. */
export function isPathStage(stage: Stage): boolean {
  return PATH_STAGES.has(stage);
}

/** Whether receivers refuse recipients at `stage`. */
export function isRecipientStage(stage: Stage): boolean {
  return RECIPIENT_STAGES.has(stage);
}

/** The verdict of a category for one reply. */
export function verdictOf(parts: VerdictParts): Verdict {
  const { category, permanent, stage } = parts;
  const facts = categoryFacts(category);
  const confidence = parts.confidence ?? 'high';
  const handling = permanent ? facts.permanent : facts.temporary;
  const onPath =
    PATH_STAGES.has(stage) ||
    (parts.closing === true && facts.scope === 'path' && handling.action === 'retry');
  return {
    category,
    scope: onPath ? 'path' : (parts.scope ?? facts.scope),
    action: onPath ? 'path' : handling.action,
    waitMs: parts.waitMs ?? handling.waitMs,
    soft: facts.soft,
    suppress: suppressionOf(facts, parts, confidence),
    confidence,
    ruleId: parts.ruleId,
    hintMs: parts.hintMs ?? null,
    // The end of a category holds for what the category is about: a reply about all mail of a domain ends no message early.
    giveUp: onPath || (parts.scope ?? facts.scope) !== facts.scope ? null : handling.giveUp,
  };
}

/** The verdict of a failure that we name ourselves (a lost connection, DNS): never suppresses. */
export function localVerdict(category: Category, action: Action, scope?: BounceScope): Verdict {
  const facts = categoryFacts(category);
  return {
    category,
    scope: scope ?? facts.scope,
    action,
    waitMs: null,
    soft: false,
    suppress: 'no',
    confidence: 'high',
    ruleId: 'local',
    hintMs: null,
    giveUp: null,
  };
}

function suppressionOf(facts: CategoryFacts, parts: VerdictParts, confidence: Confidence): Suppress {
  if (confidence !== 'high' || !SUPPRESSING.includes(parts.category)) return 'no';
  if ((parts.scope ?? facts.scope) !== 'recipient' || !RECIPIENT_STAGES.has(parts.stage)) return 'no';
  return parts.permanent ? facts.suppress : facts.suppressTemporary;
}

const FAULTS: Readonly<Record<CategoryFacts['fault'], string>> = {
  recipient: 'It lies with the recipient’s mailbox or address.',
  receiver: 'It lies with the receiving side.',
  next_host: 'It lies with that server or the way to it, not with the recipient.',
  sender: 'It lies with the sender domain’s settings.',
  operator: 'It lies with this server or its reputation, not with the recipient.',
  content: 'It lies with the message itself.',
  nobody: 'It is nobody’s fault.',
};

export interface Explanation {
  /** What it means. */
  means: string;
  /** Who has the problem. */
  fault: string;
  /** What happens next. */
  next: string;
  /** Who can correct it, and how. */
  fix: string;
}

/** Rule for a 5xx instead of the greeting whose text says no more (RFC 5321 §3.1). */
export const GREETING_REFUSED = 'stage:banner-5xx';

/**
 * The category shown for a verdict: a refusal instead of a greeting does not mean a busy server, although it is handled
 * in the same way.
 */
export function toldAs({ category, ruleId }: Pick<Verdict, 'category' | 'ruleId'>): Category {
  return ruleId === GREETING_REFUSED ? 'greeting_refused' : category;
}

/** The explanation of a verdict in sentences. */
export function explanationOf(
  verdict: Pick<Verdict, 'category' | 'action' | 'waitMs' | 'suppress' | 'giveUp' | 'ruleId'>,
): Explanation {
  const facts = categoryFacts(toldAs(verdict));
  return {
    means: verdict.action === 'retry' ? (facts.meansTemporary ?? facts.means) : facts.means,
    fault: FAULTS[facts.fault],
    next: facts.next ?? nextOf(verdict),
    fix: facts.fix,
  };
}

/** The explanation as one line. */
export function sentenceOf(explanation: Explanation): string {
  return `${explanation.means} ${explanation.fault} ${explanation.next} ${explanation.fix}`;
}

function nextOf({
  action,
  waitMs,
  suppress,
  giveUp,
}: Pick<Verdict, 'action' | 'waitMs' | 'suppress' | 'giveUp'>): string {
  const wait = waitMs === null ? '' : ` in about ${durationText(waitMs)}`;
  switch (action) {
    case 'bounce':
      if (suppress === 'hard') return 'It is not tried again, and the address is suppressed.';
      if (suppress === 'inactive') return 'It is not tried again, and the address is suppressed for 90 days.';
      return 'It is not tried again; the address stays usable.';
    case 'retry': {
      const limit =
        giveUp === null || giveUp.afterMs === 0
          ? ''
          : `, and given up after ${giveUp.tries > 0 ? `${giveUp.tries} attempts and ` : ''}${durationText(giveUp.afterMs)}`;
      return `It is tried again${wait}${limit === '' ? ' until its time is over' : limit}.`;
    }
    case 'path':
      return `All mail to this receiver waits, then goes on${wait}; no attempt is charged.`;
    case 'defer':
      return `All mail to this receiver waits, then goes on${wait}; this message is given up after ${durationText(giveUp?.afterMs ?? 0)}.`;
  }
}

const HAPPENED: Readonly<Record<'deferred' | 'bounced' | 'failed', string>> = {
  deferred: 'It is tried again.',
  bounced: 'It is not tried again.',
  failed: 'It was given up.',
};

/**
 * The explanation of an attempt's result in one line: what it means, who has the problem, what happens next, who can
 * correct it.
 */
export function outcomeSentence(kind: keyof typeof HAPPENED, category: Category): string {
  const { means, meansTemporary, fault, fix, fixFinal } = categoryFacts(category);
  const meant = kind === 'deferred' ? (meansTemporary ?? means) : means;
  const mend = kind === 'deferred' ? fix : (fixFinal ?? fix);
  return `${meant} ${FAULTS[fault]} ${HAPPENED[kind]} ${mend}`;
}

/** `90000` → `2 minutes`; whole units, rounded up. */
function durationText(ms: number): string {
  const [count, unit] =
    ms >= 3_600_000
      ? [Math.ceil(ms / 3_600_000), 'hour']
      : ms >= 60_000
        ? [Math.ceil(ms / 60_000), 'minute']
        : [Math.ceil(ms / 1000), 'second'];
  return `${count} ${unit}${count === 1 ? '' : 's'}`;
}
