/**
 * The reply classifier. Each category gets a score: how likely the weights learned from labelled replies find it
 * (learned.ts), plus a fixed number if a rule that knows the wording (rules.json) says it, or the codes of the reply
 * (RFC 3463, RFC 5321 §4.2). The highest score decides. A rule of the operator decides alone. If reply code and enhanced
 * code have different classes, the reply code counts. For texts that we wrote ourselves only the codes count. Unknown
 * failures are temporary, or refused without a consequence for the address.
 */
import { readFileSync } from 'node:fs';
import type { BounceScope } from '../../../../model/bounce.ts';
import type { Category } from './categories.ts';
import { learnedOf } from './learned.ts';
import { meaningsOf } from './meanings.ts';
import { enhancedIn, retryHintMs, subjectOf } from './normalise.ts';
import { notFinalIn } from './not-final.ts';
import { namesOtherReason, namesOtherSubjects } from './other-subjects.ts';
import { type Prefilter, prefilterOf } from './prefilter.ts';
import { createProviders, type Provider, type Providers } from './provider.ts';
import { quotesReply } from './quoted-reply.ts';
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
  isProbablyInvalid,
  type Stage,
  type Verdict,
  verdictOf,
} from './verdict.ts';

interface ReplyQuestion {
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

/** A classifier with the shipped rules; throws if one of them is wrong, which tests exclude. */
export function createClassifier(): Classifier {
  const shipped = shippedRules();
  const providers = createProviders(shipped.providers);
  const own = readRules(shipped.rules, providers.ids);
  if (own.kind === 'refused') {
    throw new TypeError(
      `reply rules: ${own.errors.map((e) => `#${e.index} ${e.id}: ${e.message}`).join('; ')}`,
    );
  }
  const shippedOnes = own.rules;
  let operators: readonly Rule[] = [];
  return {
    classify(question) {
      const read = classifyWith({ operators, shipped: shippedOnes, providers }, question);
      const verdict = isOfAnother(read, question) ? ofAnother(read, question) : read;
      if (contradictsItself(verdict, question)) return { ...verdict, suppress: 'no', confidence: 'low' };
      const careful: Verdict =
        verdict.suppress === 'no' || isPlain(verdict.ruleId, question)
          ? verdict
          : { ...verdict, suppress: 'no', confidence: 'medium' };
      return isProbablyInvalid(careful) && isOtherwiseMeant(careful, question)
        ? { ...careful, confidence: 'low' }
        : careful;
    },
    useOperatorRules(json) {
      const read = readRules(json, providers.ids);
      if (read.kind === 'refused') return { kind: 'kept', errors: read.errors };
      // Whoever writes a rule for their own receivers may mean a host by one word of its name.
      operators = read.rules.map((rule) => ({ ...rule, readsHosts: true }));
      return { kind: 'used', count: read.rules.length };
    },
    get ruleCount() {
      return operators.length + shippedOnes.length;
    },
  };

  /** Whether it would end an address, and asks for another attempt: then it does not even count against the address. */
  function contradictsItself(
    { category, suppress, ruleId }: Verdict,
    { code, enhanced, text }: ReplyQuestion,
  ): boolean {
    if (code < 500 || suppress === 'soft' || !TAKES_NO_MAIL.has(category) || isOperators(ruleId))
      return false;
    const notFinal = notFinalIn(subjectOf(code, enhanced ?? enhancedIn(text), text));
    // A mailbox may be closed for the moment; an address cannot be unknown for the moment.
    return notFinal === 'passing' || (notFinal === 'moment' && category === 'recipient_invalid');
  }

  /** Whether it gives or quotes another reason than the recipient: then several such replies do not end the address either. */
  function isOtherwiseMeant({ ruleId }: Verdict, { code, enhanced, text }: ReplyQuestion): boolean {
    if (isOperators(ruleId)) return false;
    const subject = subjectOf(code, enhanced ?? enhancedIn(text), text);
    return (ruleId.startsWith('code:') && quotesReply(subject)) || namesOtherReason(subject);
  }

  /** Whether the address that it refuses is not ours, but that of the server that quotes the refusal. */
  function isOfAnother({ category, ruleId }: Verdict, { stage, code, text, origin }: ReplyQuestion): boolean {
    return (
      origin === 'remote' &&
      ABOUT_THE_CLIENT.has(category) &&
      !isPathStage(stage) &&
      !isOperators(ruleId) &&
      quotesReply(subjectOf(code, null, text))
    );
  }

  function isOperators(ruleId: string): boolean {
    return operators.some(({ id }) => id === ruleId);
  }

  /** Whether the reply can only be about the recipient. */
  function isPlain(ruleId: string, { code, enhanced, text, mx }: ReplyQuestion): boolean {
    // A rule of the operator, or of one provider for its own server.
    if (isOperators(ruleId)) return true;
    if (mx !== undefined && shippedOnes.some(({ id, provider }) => id === ruleId && provider !== undefined))
      return true;
    // What is wrong with a command is not wrong with a mailbox (RFC 5321 §4.2.2).
    if (code >= 500 && code <= 504) return false;
    const subject = subjectOf(code, enhanced ?? enhancedIn(text), text);
    // Weights alone are only trusted where the reply names a recipient: an invalid message is none.
    if (ruleId === 'learned' && !meaningsOf(subject).has('recipient')) return false;
    return !namesOtherSubjects(subject, mx);
  }
}

/** What a server says of the client that is connected to it. */
const ABOUT_THE_CLIENT: ReadonlySet<Category> = new Set([
  'ip_blocklisted',
  'ip_reputation',
  'ptr_missing',
  'helo',
  'rate_limited',
  'connection_limited',
  'tls_required',
  'tls_failed',
  'relay_login_failed',
]);

/** A refusal on the way behind the server: it stops this message, and not our path. */
function ofAnother({ ruleId, hintMs }: Verdict, { stage, code }: ReplyQuestion): Verdict {
  const permanent = code >= 500;
  return verdictOf({ category: 'policy_other', permanent, stage, ruleId, confidence: 'medium', hintMs });
}

/** Codes with only one meaning (RFC 5321 §4.2.2, RFC 4954 §6), whatever the text says. */
const SPEAKING_CODES: ReadonlySet<number> = new Set([503, 535]);

interface Knowledge {
  operators: readonly Rule[];
  shipped: readonly Rule[];
  providers: Providers;
}

function classifyWith(
  { operators, shipped, providers }: Knowledge,
  { stage, code, enhanced: given, text, mx, origin }: ReplyQuestion,
): Verdict {
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
  const enhanced = given ?? enhancedIn(text);
  const said = { permanent, stage, hintMs: retryHintMs(text), closing: code === 421 };
  const subject = subjectOf(code, enhanced, text);
  const figures = byFigures(code, enhanced, stage, origin === 'local' ? null : subject);
  // After a bad sequence of commands a fresh connection may do (RFC 5321 §4.2.2).
  const byCodes = (confidence = figures.confidence) =>
    verdictOf({ ...figures, ...said, confidence, permanent: permanent && code !== 503 });
  if (origin === 'local' || group === null) return byCodes();

  const prefilter = prefilterOf(subject);
  const provider = (mx === undefined ? null : providers.ofHost(mx)) ?? providers.ofText(subject);
  const find = (rules: readonly Rule[]) =>
    provider === null && mx === undefined
      ? anyProvidersRule(rules, subject, prefilter, group)
      : rules.find(
          (one) =>
            (one.provider === undefined || one.provider === provider) &&
            ruleMatches(one, subject, prefilter, group),
        );
  const operatorsRule = find(operators);
  if (operatorsRule !== undefined) return verdictOf({ ...ofRule(operatorsRule), ...said });
  const rule = find(shipped);
  if (rule?.alone === true) return verdictOf({ ...ofRule(rule), ...said });
  if (SPEAKING_CODES.has(code) || stage === 'auth')
    return rule === undefined ? byCodes() : verdictOf({ ...ofRule(rule), ...said });

  const scores = new Map(learnedOf(subject, group, provider));
  const add = (category: Category, weight: number) =>
    scores.set(category, (scores.get(category) ?? NEVER_LEARNED) + weight);
  add(figures.category, CODES_WEIGHT[figures.confidence]);
  // A rule for this provider's own servers counts twice.
  if (rule !== undefined)
    add(rule.category, RULE_WEIGHT[rule.confidence] * (rule.provider === undefined ? 1 : 2));
  const { category, share } = mostLikely(scores, permanent);
  if (rule?.category === category) {
    // Words that are doubtful alone are not when the enhanced code says the same of the recipient (RFC 3463 §3.2, §3.3).
    const isSaidTwice = stage === 'rcpt' && figures.category === category && figures.confidence === 'high';
    return verdictOf({
      ...ofRule(rule),
      ...said,
      confidence: isSaidTwice && rule.confidence === 'medium' ? 'high' : rule.confidence,
    });
  }
  // If a rule says something else, nothing is sure.
  const doubted = rule === undefined ? undefined : 'medium';
  if (figures.category === category || share < LEAST)
    return byCodes(figures.confidence === 'high' ? doubted : undefined);
  const confidence = share < LIKELY ? 'low' : share < SURE ? 'medium' : (doubted ?? 'high');
  const learned = verdictOf({ category, confidence, ruleId: 'learned', ...said });
  // The words of one reply are not held against the whole server where its code is about a mailbox.
  if (learned.scope === 'path' && confidence !== 'high' && enhanced !== null && ABOUT_MAILBOX.test(enhanced))
    return byCodes();
  // During a transaction a guess does not stop the path.
  const stops = learned.action === 'path' && !isPathStage(stage) && code !== 421;
  return stops && confidence === 'low' ? { ...learned, action: 'retry' } : learned;
}

/** What rules and codes add to the learned likelihood, which is a logarithm. */
const CODES_WEIGHT: Readonly<Record<Confidence, number>> = { high: 2, medium: 1, low: 0.5 };
const RULE_WEIGHT: Readonly<Record<Confidence, number>> = { high: 3, medium: 1.5, low: 1 };
/** The class x.1 or x.2 (RFC 3463 §3.2, §3.3). */
const ABOUT_MAILBOX = /^\d\.[12]\./;
/** For a category that no labelled reply has. */
const NEVER_LEARNED = -6;
/** The share of all likelihoods from which a category is sure, likely, or more than a guess. */
const SURE = 0.9;
const LIKELY = 0.5;
const LEAST = 0.3;

/** Many servers name both in one reply: unknown or closed. */
const TAKES_NO_MAIL: ReadonlySet<Category> = new Set(['recipient_invalid', 'mailbox_inactive']);

/** The category with the highest score, and its share of all likelihoods. */
function mostLikely(
  scores: ReadonlyMap<Category, number>,
  permanent: boolean,
): { category: Category; share: number } {
  let best: Category = 'unknown_soft';
  let most = Number.NEGATIVE_INFINITY;
  for (const [category, count] of scores) if (count > most) [best, most] = [category, count];
  let all = 0;
  let same = 0;
  for (const [category, count] of scores) {
    const likelihood = Math.exp(count - most);
    all += likelihood;
    if (category === best || (TAKES_NO_MAIL.has(category) && TAKES_NO_MAIL.has(best))) same += likelihood;
  }
  const isUnknown = best === 'unknown_hard' || best === 'unknown_soft';
  return {
    category: isUnknown ? (permanent ? 'unknown_hard' : 'unknown_soft') : best,
    share: same / all,
  };
}

function ofRule({ category, scope, confidence, id, waitMs }: Rule): Known {
  return {
    category,
    confidence,
    ruleId: id,
    ...(scope === undefined ? {} : { scope }),
    ...(waitMs === undefined ? {} : { waitMs }),
  };
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
    if (!ruleMatches(rule, subject, prefilter, group)) continue;
    if (rule.provider !== undefined) ofProvider ??= rule;
    else if (rule.confidence === 'high') return rule;
    else doubtful ??= rule;
  }
  return ofProvider ?? doubtful;
}

/** What a rule or the codes of a reply say. */
interface Known {
  category: Category;
  scope?: BounceScope;
  waitMs?: number;
  confidence: Confidence;
  ruleId: string;
}

/** Kinds of words that nobody says of an address that does not exist or takes no mail. */
const OF_OTHER_MATTERS = [
  ...['full', 'storage', 'connection', 'concurrent', 'many', 'rate'],
  ...['spam', 'virus', 'size', 'attachment', 'loop', 'group', 'relay', 'sender'],
];
const OF_RECIPIENTS = ['recipient', 'recipients', 'addressee'];
/** Kinds of words that alone, beside codes, do not say what a refusal is about. */
const SAYS_LITTLE: ReadonlySet<string> = new Set(['not', 'exist', 'blocked', 'name', 'absent', 'closed']);

/** Whether the words, in any language, are about something else than an address that does not exist or takes no mail. */
function isAboutOthers(subject: string): boolean {
  const said = meaningsOf(subject);
  if (!OF_RECIPIENTS.some((kind) => said.has(kind))) return [...said].some((kind) => !SAYS_LITTLE.has(kind));
  if (said.has('absent')) return false;
  const isMessageRefused = said.has('content') && said.has('blocked') && !said.has('closed');
  return isMessageRefused || OF_OTHER_MATTERS.some((kind) => said.has(kind));
}

/** What the codes and the stage say alone. `words`: the reply; null = ours, whose codes are always meant. */
function byFigures(code: number, enhanced: string | null, stage: Stage, words: string | null): Known {
  const permanent = code >= 500;
  if (code === 421) return { category: 'service_unavailable', confidence: 'low', ruleId: 'code:421' };
  // 535 only answers a login (RFC 4954 §6), at any stage.
  if (stage === 'auth' || code === 535)
    return {
      category: 'relay_login_failed',
      confidence: 'high',
      ruleId: stage === 'auth' ? 'stage:auth' : 'code:535',
    };
  if (code === 503) return { category: 'protocol_error', confidence: 'high', ruleId: 'code:503' };
  if (isPathStage(stage)) {
    const ruleId = stage === 'banner' && permanent ? GREETING_REFUSED : `stage:${stage}`;
    return { category: 'service_unavailable', confidence: 'low', ruleId };
  }
  const known = byEnhanced(enhanced, permanent, stage);
  // 50x speaks of a command (RFC 5321 §4.2.2), and so may its enhanced code.
  const confidence = code > 504 || known?.confidence !== 'high' ? known?.confidence : 'medium';
  if (known !== null && confidence !== undefined) {
    const isDoubted = words !== null && TAKES_NO_MAIL.has(known.category) && isAboutOthers(words);
    return { ...known, confidence: isDoubted ? 'low' : confidence, ruleId: `code:${known.ruleId}` };
  }
  return {
    category: permanent ? 'unknown_hard' : 'unknown_soft',
    confidence: 'low',
    ruleId: `stage:${stage}`,
  };
}

/** Enhanced codes without their class digit (RFC 3463, and later additions of the registry). */
function byEnhanced(enhanced: string | null, permanent: boolean, stage: Stage): Known | null {
  const match = /^[245]\.(\d{1,3})\.(\d{1,3})$/.exec(enhanced ?? '');
  if (match === null) return null;
  const subject = Number(match[1]);
  const ruleId = `${subject}.${Number(match[2])}`;
  const say = (category: Category, confidence: Confidence = 'high'): Known => ({
    category,
    confidence,
    ruleId: `x.${ruleId}`,
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
