/**
 * The reply classifier: normalises the reply, then tries the rules in order, then the kinds of words in it
 * (meanings.ts), then the table of enhanced codes (RFC 3463), then the stage. The first step that recognises the reply
 * decides. If reply code (RFC 5321 §4.2.1) and enhanced code have different classes, the reply code counts. Texts that
 * we wrote ourselves are never compared with text rules. Unknown failures are temporary, or refused without a
 * consequence for the address.
 */
import { readFileSync } from 'node:fs';
import type { BounceScope } from '../../../../model/bounce.ts';
import type { Category } from './categories.ts';
import { type Reading, readingOf } from './meanings.ts';
import { enhancedIn, retryHintMs, subjectOf } from './normalise.ts';
import { namesOtherSubjects } from './other-subjects.ts';
import { type Prefilter, prefilterOf } from './prefilter.ts';
import { createProviders, type Provider, type Providers } from './provider.ts';
import {
  type Rule,
  type RuleError,
  readRules,
  ruleMatches,
  type StageGroup,
  stageGroupOf,
} from './rule-set.ts';
import {
  type Confidence,
  GREETING_REFUSED,
  isPathStage,
  type Stage,
  type Verdict,
  verdictOf,
} from './verdict.ts';

export interface ReplyQuestion {
  stage: Stage;
  /** 400–599; others are not final replies. */
  code: number;
  /** RFC 3463; null: searched for at the start of the text. */
  enhanced: string | null;
  text: string;
  /** Name of the host that sent the reply. Absent: rules of every provider apply, after the general ones. */
  mx?: string | undefined;
  origin: 'remote' | 'local';
}

export interface Classifier {
  classify(question: ReplyQuestion): Verdict;
  /** Puts an operator's rules before the shipped ones. `kept`: they have a mistake, nothing changed. */
  useOperatorRules(
    json: unknown,
  ): { kind: 'used'; count: number } | { kind: 'kept'; errors: readonly RuleError[] };
  readonly ruleCount: number;
}

/** The shipped rules and providers, as JSON. */
export function shippedRules(): { rules: unknown; providers: readonly Provider[] } {
  const read = (name: string): unknown => JSON.parse(readFileSync(new URL(name, import.meta.url), 'utf8'));
  return { rules: read('./rules.json'), providers: read('./providers.json') as readonly Provider[] };
}

/** A classifier with `rules`; throws if a shipped rule is wrong, which tests exclude. */
export function createClassifier(shipped = shippedRules()): Classifier {
  const providers = createProviders(shipped.providers);
  const own = readRules(shipped.rules, providers.ids);
  if (own.kind === 'refused') {
    throw new TypeError(
      `reply rules: ${own.errors.map((e) => `#${e.index} ${e.id}: ${e.message}`).join('; ')}`,
    );
  }
  const shippedOnes: ReadonlySet<Rule> = new Set(own.rules);
  let rules = own.rules;
  return {
    classify(question) {
      const verdict = classifyWith(rules, providers, question);
      if (verdict.suppress === 'no' || isPlain(verdict.ruleId, question)) return verdict;
      return { ...verdict, suppress: 'no', confidence: 'medium' };
    },
    useOperatorRules(json) {
      const read = readRules(json, providers.ids);
      if (read.kind === 'refused') return { kind: 'kept', errors: read.errors };
      rules = [...read.rules, ...own.rules];
      return { kind: 'used', count: read.rules.length };
    },
    get ruleCount() {
      return rules.length;
    },
  };

  /** Whether the reply can only be about the recipient. */
  function isPlain(ruleId: string, { code, enhanced, text, mx }: ReplyQuestion): boolean {
    const rule = rules.find(({ id }) => id === ruleId);
    // A rule of the operator, or of one provider for its own server.
    if (rule !== undefined && (!shippedOnes.has(rule) || (rule.provider !== undefined && mx !== undefined)))
      return true;
    return !namesOtherSubjects(subjectOf(code, enhanced ?? enhancedIn(text), text), mx);
  }
}

/** Codes with only one meaning (RFC 5321 §4.2.2, RFC 4954 §6), whatever the text says. */
const SPEAKING_CODES: ReadonlySet<number> = new Set([503, 535]);

function classifyWith(rules: readonly Rule[], providers: Providers, question: ReplyQuestion): Verdict {
  const { stage, code, text } = question;
  const permanent = code >= 500 && code < 600;
  if (code < 400 || code >= 600) {
    return verdictOf({
      category: 'protocol_error',
      permanent: false,
      stage,
      ruleId: 'code:none',
      confidence: 'low',
    });
  }
  const group = stageGroupOf(stage);
  const enhanced = question.enhanced ?? enhancedIn(text);
  const hintMs = retryHintMs(text);
  let guess: Rule | Reading | null = null;
  if (question.origin === 'remote' && group !== null) {
    const subject = subjectOf(code, enhanced, text);
    const prefilter = prefilterOf(subject);
    const provider =
      (question.mx === undefined ? null : providers.ofHost(question.mx)) ?? providers.ofText(subject);
    const rule =
      provider === null && question.mx === undefined
        ? anyProvidersRule(rules, subject, prefilter, group)
        : rules.find(
            (one) =>
              (one.provider === undefined || one.provider === provider) &&
              ruleMatches(one, subject, prefilter, group),
          );
    const mayRead = !SPEAKING_CODES.has(code) && stage !== 'auth';
    const reading =
      mayRead && (rule === undefined || rule.confidence === 'low') ? readingOf(subject, group) : null;
    const known = reading === null || reading.confidence === 'low' ? rule : reading;
    guess = reading;
    if (known !== undefined) return ofText(known);
  }
  if (code === 421) {
    return verdictOf({
      category: 'service_unavailable',
      permanent,
      stage,
      ruleId: 'code:421',
      hintMs,
      closing: true,
    });
  }
  // 535 only answers a login (RFC 4954 §6), at any stage.
  if (stage === 'auth' || code === 535) {
    return verdictOf({
      category: 'relay_login_failed',
      permanent,
      stage,
      ruleId: stage === 'auth' ? 'stage:auth' : 'code:535',
      hintMs,
    });
  }
  if (code === 503) {
    return verdictOf({ category: 'protocol_error', permanent: false, stage, ruleId: 'code:503', hintMs });
  }
  const known = isPathStage(stage) ? null : byEnhanced(enhanced, permanent, stage);
  // A doubtful code counts less than words that ask to wait.
  const asksForPatience = guess?.category === 'service_unavailable' && !permanent;
  if (known !== null && (known.confidence === 'high' || !asksForPatience)) {
    return verdictOf({ ...known, permanent, stage, ruleId: `code:${known.ruleId}`, hintMs });
  }
  return guess === null ? byStage(stage, permanent, hintMs) : ofText(guess);

  /** The words alone are doubtful, and the enhanced code says the same of the recipient (RFC 3463 §3.2, §3.3). */
  function isSaidTwice({ category, confidence }: Rule | Reading): boolean {
    if (confidence !== 'medium' || stage !== 'rcpt' || !permanent) return false;
    const figures = byEnhanced(enhanced, permanent, stage);
    return figures?.confidence === 'high' && figures.category === category;
  }

  function ofText(found: Rule | Reading): Verdict {
    return verdictOf({
      category: found.category,
      permanent,
      stage,
      ruleId: found.id,
      scope: found.scope,
      confidence: isSaidTwice(found) ? 'high' : found.confidence,
      waitMs: 'waitMs' in found ? found.waitMs : undefined,
      hintMs,
      closing: code === 421,
    });
  }
}

/**
 * If the server is unknown: first rules with a clear meaning for every server, then rules of single providers, then the
 * rest. A provider's rule may give a common phrase that provider's own meaning.
 */
function anyProvidersRule(
  rules: readonly Rule[],
  subject: string,
  prefilter: Prefilter,
  group: StageGroup,
): Rule | undefined {
  let ofProvider: Rule | undefined;
  let doubtful: Rule | undefined;
  for (const rule of rules) {
    if (
      rule.provider === undefined
        ? rule.confidence !== 'high' && doubtful !== undefined
        : ofProvider !== undefined
    )
      continue;
    if (!ruleMatches(rule, subject, prefilter, group)) continue;
    if (rule.provider !== undefined) ofProvider = rule;
    else if (rule.confidence === 'high') return rule;
    else doubtful = rule;
  }
  return ofProvider ?? doubtful;
}

interface Known {
  category: Category;
  scope?: BounceScope;
  confidence: Confidence;
  ruleId: string;
}

/** Enhanced codes without their class digit (RFC 3463, and later additions of the registry). */
function byEnhanced(enhanced: string | null, permanent: boolean, stage: Stage): Known | null {
  const match = /^[245]\.(\d{1,3})\.(\d{1,3})$/.exec(enhanced ?? '');
  if (match === null) return null;
  const subject = Number(match[1]);
  const ruleId = `${subject}.${Number(match[2])}`;
  const say = (category: Category, confidence: Confidence = 'high', scope?: BounceScope): Known => ({
    category,
    confidence,
    ruleId: `x.${ruleId}`,
    ...(scope === undefined ? {} : { scope }),
  });
  // At MAIL the server does not know the recipient yet: addressing codes there are about the sender.
  if (stage === 'mail' && (subject === 1 || subject === 2)) return say('sender_rejected', 'medium');
  // After the message was sent they may also be about the message: a code alone suppresses nobody then.
  const addressee: Confidence = stage === 'rcpt' ? 'high' : 'medium';
  switch (ruleId) {
    case '1.1':
    case '1.3':
    case '1.6':
      return say('recipient_invalid', addressee);
    case '1.2':
    case '1.10':
      return say('domain_invalid');
    case '1.7':
    case '1.8':
      return say('sender_rejected');
    case '2.1':
      return say('mailbox_inactive', permanent ? addressee : 'medium');
    case '2.2':
      return say('mailbox_full');
    case '2.3':
    case '3.4':
      return say('message_too_large');
    case '4.6':
      return say('routing_loop');
    case '5.3':
      return say('too_many_recipients');
    case '6.7':
      return say('smtputf8_unsupported');
    case '2.4':
    case '7.13':
    case '7.17':
    case '7.18':
      return say('recipient_policy');
    case '7.20':
    case '7.21':
    case '7.22':
    case '7.23':
    case '7.24':
    case '7.26':
      return say('auth_failed');
    case '7.25':
      return say('ptr_missing');
    case '7.27':
      return say('sender_rejected');
    case '7.10':
    case '7.11':
      return say('tls_required', 'medium');
  }
  if (subject === 7) return say('policy_other', 'low');
  // Problems of a receiver are no reason to give a message up, but a 5xx reply is a refusal.
  if (subject === 3 || subject === 4) {
    return permanent ? say('unknown_hard', 'low') : say('service_unavailable', 'medium');
  }
  if (subject === 5 || subject === 6) return say('protocol_error', 'low');
  return null;
}

function byStage(stage: Stage, permanent: boolean, hintMs: number | null): Verdict {
  const ruleId = `stage:${stage}`;
  if (isPathStage(stage)) {
    return verdictOf({
      category: 'service_unavailable',
      permanent,
      stage,
      ruleId: stage === 'banner' && permanent ? GREETING_REFUSED : ruleId,
      hintMs,
      confidence: 'low',
    });
  }
  return verdictOf({
    category: permanent ? 'unknown_hard' : 'unknown_soft',
    permanent,
    stage,
    ruleId,
    confidence: 'low',
    hintMs,
  });
}
