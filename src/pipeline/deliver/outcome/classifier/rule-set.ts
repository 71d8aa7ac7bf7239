/**
 * The rules for reply texts: read from JSON, checked, compiled. Takes a list of plain objects; returns compiled rules,
 * or every error with the index of its rule. A rule is data: an expression over the normalised reply (normalise.ts),
 * literals of which one must occur before the expression is tried, and its result.
 *
 * Only expressions that run in linear time are accepted: no unlimited repetition, no repeated group that contains a
 * repetition, no back-references or look-arounds, and a limit on all gaps of one expression together.
 */
import type { BounceScope } from '../../../../model/bounce.ts';
import { type Category, isCategory } from './categories.ts';
import { withoutHosts } from './host-names.ts';
import { type PastedReply, readReply, subjectOf, withoutAccents } from './normalise.ts';
import { contains, type Needle, needleOf, type Prefilter, prefilterOf } from './prefilter.ts';
import type { Confidence, Stage } from './verdict.ts';

export type StageGroup = 'connection' | 'mail' | 'rcpt' | 'data';

/** One rule as written in rules.json. */
export interface RuleData {
  id: string;
  /** Only for replies of this provider. */
  provider?: string;
  /** Only at these stages of the conversation; absent: all. */
  stages?: StageGroup[];
  /** Only for replies with such a code; absent: all. */
  when?: '4xx' | '5xx';
  re: string;
  /** One of them must be in the reply: a cheap test before the expression. */
  lit: string[];
  category: Category;
  scope?: BounceScope;
  confidence: Confidence;
  /**
   * It decides alone, whatever codes and learned words say: a customer of the provider wrote the refusal, words included, and
   * nobody stops mail to the provider's other customers by it, nor to those of a gateway before it.
   */
  alone?: boolean;
  waitMs?: number;
  /** A reply that this rule classifies. */
  example: string;
  /** A similar reply that this rule must not match. */
  nearMiss: string;
}

export interface Rule extends RuleData {
  expression: RegExp;
  needles: readonly Needle[];
  groups: ReadonlySet<StageGroup> | null;
  /** It may also match words within host names. */
  readsHosts: boolean;
}

export interface RuleError {
  /** Position in the list, from 0; -1 = the list itself. */
  index: number;
  /** The rule's id if it has one. */
  id: string;
  message: string;
}

type RuleSetResult =
  | { kind: 'rules'; rules: readonly Rule[] }
  | { kind: 'refused'; errors: readonly RuleError[] };

const MAX_RULES = 2000;
const MAX_EXPRESSION_CHARS = 1600;
/** Product of the bounds of all gaps in one alternative of an expression. */
const MAX_GAP_PRODUCT = 10_000;
const SCOPES: readonly string[] = [
  'recipient',
  'message',
  'domain',
  'sender_domain',
  'batch',
  'path',
] satisfies BounceScope[];
const GROUPS: readonly string[] = ['connection', 'mail', 'rcpt', 'data'] satisfies StageGroup[];
const CONFIDENCES: readonly string[] = ['high', 'medium', 'low'] satisfies Confidence[];
/** The expression contains a name such as `cloudmark\\.com`. */
const NAMES_A_HOST = /[a-z]\\\.[a-z]/;
/** Names of lists are host names. */
const LOOKS_FOR_LISTS: ReadonlySet<Category> = new Set([
  'ip_blocklisted',
  'ip_reputation',
  'url_or_domain_blocklisted',
]);
/** `since` and `source` are for people, and `hint` has no effect any more. */
const FIELDS: ReadonlySet<string> = new Set([
  'id',
  'provider',
  'stages',
  'when',
  're',
  'lit',
  'category',
  'scope',
  'confidence',
  'hint',
  'alone',
  'waitMs',
  'since',
  'source',
  'example',
  'nearMiss',
]);

/** Reads and checks a list of rules. `providers`: ids that a rule may name. One error refuses the whole list. */
export function readRules(json: unknown, providers: ReadonlySet<string>): RuleSetResult {
  if (!Array.isArray(json)) {
    return { kind: 'refused', errors: [{ index: -1, id: '', message: 'the rules are not a list' }] };
  }
  if (json.length > MAX_RULES) {
    return { kind: 'refused', errors: [{ index: -1, id: '', message: `more than ${MAX_RULES} rules` }] };
  }
  const errors: RuleError[] = [];
  const rules: Rule[] = [];
  const ids = new Set<string>();
  json.forEach((item: unknown, index) => {
    const problems: string[] = [];
    const data = dataOf(item, providers, problems);
    const id = data?.id ?? idOf(item);
    if (ids.has(id)) problems.push('another rule has this id');
    ids.add(id);
    if (data !== null && problems.length === 0) {
      const rule = compile(data);
      problems.push(...behaviour(rule));
      rules.push(rule);
    }
    errors.push(...problems.map((message) => ({ index, id, message })));
  });
  return errors.length > 0 ? { kind: 'refused', errors } : { kind: 'rules', rules };
}

/** The name of `stage` in rules; null for our own results. */
export function stageGroupOf(stage: Stage): StageGroup | null {
  switch (stage) {
    case 'connect':
    case 'banner':
    case 'ehlo':
    case 'starttls':
    case 'tls':
    case 'auth':
      return 'connection';
    case 'mail':
      return 'mail';
    case 'rcpt':
      return 'rcpt';
    case 'data':
    case 'body':
    case 'dot':
      return 'data';
    case 'dns':
    case 'local':
      return null;
  }
}

/**
 * Whether a rule's own condition matches a normalised reply with its prefilter; the caller checks provider and order.
 */
export function ruleMatches(rule: Rule, subject: string, prefilter: Prefilter, group: StageGroup): boolean {
  if (rule.when !== undefined && rule.when.charCodeAt(0) !== subject.charCodeAt(0)) return false;
  if (rule.groups !== null && !rule.groups.has(group)) return false;
  for (const needle of rule.needles)
    if (contains(subject, prefilter, needle))
      return (
        rule.expression.test(subject) && (rule.readsHosts || rule.expression.test(withoutHosts(subject)))
      );
  return false;
}

/** Why an expression is not allowed, or null. */
export function expressionProblem(source: string): string | null {
  if (source.length === 0 || source.length > MAX_EXPRESSION_CHARS)
    return 'the expression is empty or too long';
  let product = 1;
  let inClass = false;
  /** For each open group: whether it contains a repetition. */
  const repeats: boolean[] = [];
  let closedRepeats = false;
  for (let at = 0; at < source.length; at += 1) {
    const char = source[at];
    const wasGroupEnd = closedRepeats;
    closedRepeats = false;
    if (char === '\\') {
      const next = source[at + 1] ?? '';
      if (/[1-9k]/.test(next)) return 'back-references are not allowed';
      at += 1;
    } else if (inClass) {
      if (char === ']') inClass = false;
    } else if (char === '[') inClass = true;
    else if (char === '(') {
      if (source[at + 1] === '?' && source[at + 2] !== ':') return 'only (?:…) and (…) groups are allowed';
      repeats.push(false);
    } else if (char === ')') {
      closedRepeats = repeats.pop() ?? false;
      if (closedRepeats && repeats.length > 0) repeats[repeats.length - 1] = true;
    } else if (char === '|' && repeats.length === 0) {
      product = 1;
    } else if (char === '*' || char === '+') return 'unbounded repetition (* or +): use {0,60}';
    else if (char === '{') {
      const bounds = /^\{(\d{1,4})(?:,(\d{1,4}))?\}/.exec(source.slice(at));
      if (bounds === null) return 'a repetition needs an upper bound';
      if (wasGroupEnd) return 'a repeated group contains a repetition';
      product *= Number(bounds[2] ?? bounds[1]) + 1;
      if (product > MAX_GAP_PRODUCT) return `gaps multiply to ${product}, at most ${MAX_GAP_PRODUCT}`;
      if (repeats.length > 0) repeats[repeats.length - 1] = true;
      at += bounds[0].length - 1;
    }
  }
  try {
    new RegExp(source);
    return null;
  } catch (cause) {
    return (cause as Error).message;
  }
}

function compile(data: RuleData): Rule {
  return {
    ...data,
    expression: new RegExp(data.re),
    needles: data.lit.map(needleOf),
    groups: data.stages === undefined ? null : new Set(data.stages),
    readsHosts:
      data.provider !== undefined || NAMES_A_HOST.test(data.re) || LOOKS_FOR_LISTS.has(data.category),
  };
}

/** The example matches, the near miss does not. */
function behaviour(rule: Rule): string[] {
  const problems: string[] = [];
  const group = rule.stages?.[0] ?? 'rcpt';
  const example = readReply(rule.example);
  const nearMiss = readReply(rule.nearMiss);
  if (example === null) problems.push('the example is no reply');
  else if (!matchesReply(rule, example, group)) problems.push('the rule does not match its example');
  if (nearMiss === null) problems.push('the near miss is no reply');
  else if (matchesReply(rule, nearMiss, group)) problems.push('the rule matches its near miss');
  return problems;
}

function matchesReply(rule: Rule, { code, enhanced, text }: PastedReply, group: StageGroup): boolean {
  const subject = subjectOf(code, enhanced, text);
  return ruleMatches(rule, subject, prefilterOf(subject), group);
}

function idOf(item: unknown): string {
  const id = typeof item === 'object' && item !== null && 'id' in item ? item.id : '';
  return typeof id === 'string' ? id : '';
}

function dataOf(item: unknown, providers: ReadonlySet<string>, problems: string[]): RuleData | null {
  if (typeof item !== 'object' || item === null || Array.isArray(item)) {
    problems.push('a rule is an object');
    return null;
  }
  const fields = item as Readonly<Record<string, unknown>>;
  for (const name of Object.keys(fields)) if (!FIELDS.has(name)) problems.push(`unknown field ${name}`);
  const text = (name: string): string => {
    const value = fields[name];
    if (typeof value === 'string' && value !== '') return value;
    problems.push(`${name} is missing`);
    return '';
  };
  const oneOf = (name: string, allowed: readonly string[]): string => {
    const value = text(name);
    if (value !== '' && !allowed.includes(value)) problems.push(`${name} is one of ${allowed.join(', ')}`);
    return value;
  };
  const texts = (name: string): string[] => {
    const value = fields[name];
    if (
      Array.isArray(value) &&
      value.length > 0 &&
      value.every((one) => typeof one === 'string' && one !== '')
    )
      return value as string[];
    problems.push(`${name} is a list of texts`);
    return [];
  };
  const category = text('category');
  if (category !== '' && !isCategory(category)) problems.push(`no category ${category}`);
  const data: RuleData = {
    id: text('id'),
    re: text('re'),
    lit: texts('lit'),
    category: isCategory(category) ? category : 'unknown_soft',
    confidence: oneOf('confidence', CONFIDENCES) as Confidence,
    example: text('example'),
    nearMiss: text('nearMiss'),
  };
  if (data.lit.some((literal) => literal !== literal.toLowerCase())) problems.push('literals are lower-case');
  else if ([...data.lit, data.re].some((one) => one !== withoutAccents(one)))
    problems.push('replies are matched without accents: write literals and expression without them');
  const problem = expressionProblem(data.re);
  if (problem !== null) problems.push(problem);
  if (fields.provider !== undefined) {
    data.provider = text('provider');
    if (!providers.has(data.provider)) problems.push(`no provider ${data.provider}`);
  }
  if (fields.stages !== undefined) {
    data.stages = texts('stages') as StageGroup[];
    if (data.stages.some((stage) => !GROUPS.includes(stage)))
      problems.push(`stages are ${GROUPS.join(', ')}`);
  }
  if (fields.when !== undefined) {
    const when = oneOf('when', ['4xx', '5xx', 'any']);
    if (when !== 'any') data.when = when as '4xx' | '5xx';
  }
  if (fields.scope !== undefined) data.scope = oneOf('scope', SCOPES) as BounceScope;
  if (typeof fields.alone === 'boolean') data.alone = fields.alone;
  else if (fields.alone !== undefined) problems.push('alone is true or false');
  if (fields.waitMs !== undefined) {
    if (Number.isInteger(fields.waitMs) && (fields.waitMs as number) > 0)
      data.waitMs = fields.waitMs as number;
    else problems.push('waitMs is a positive whole number');
  }
  return data;
}
