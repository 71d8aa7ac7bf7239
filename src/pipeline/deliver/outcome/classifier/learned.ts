/**
 * How likely each category is for a reply, by weights learned from the labelled replies of test/corpus/replies (`npm run
 * learn` writes learned.json). Words, kinds of words, codes and the stage each have weights of their own, so wordings
 * that nobody has seen are classified too. Linear in the normalised reply, which may contain any characters.
 */
import { readFileSync } from 'node:fs';
import type { Category } from './categories.ts';
import { withoutHosts } from './host-names.ts';
import { kindsOf, meaningsOf, UNSPACED } from './meanings.ts';
import type { StageGroup } from './rule-set.ts';

/** The stored weights: for each feature one byte per category, in hexadecimal; 128 means zero. */
export interface LearnedData {
  /** Hash of what it was learned from. */
  corpus: string;
  /** Separated by blanks. */
  categories: string;
  weights: Readonly<Record<string, string>>;
}

/** The weight of one step of a byte. */
export const WEIGHT_STEP = 1 / 32;
/** All features of a reply together count as much as this number squared, so that long replies are not surer. */
const LENGTH = 3;
/** Only the first letters of a word count, because most languages inflect at the end. */
const STEM = 6;

const CODES = /^(\d)(\d\d)(?: \d\.(\d{1,3})\.(\d{1,3}))?/;
const LINKS = /https?:\/\/\S{1,300}/g;
const ADDRESSES = /(?<!\S)\S{0,200}@\S{0,200}/g;
const IPV4 = /\[?\b\d{1,3}(?:\.\d{1,3}){3}\b\]?/g;
const WORDS = /\p{L}+/gu;

/** A host name without its parts that mean something as words, except those of lists. */
function namesAlone(host: string): string {
  const isName = (part: string) => {
    const kinds = kindsOf(part);
    return kinds.size === 0 || kinds.has('list');
  };
  return host.split('.').filter(isName).join('.');
}

/** The features of a normalised reply. `provider`: the provider of the server that sent it, if known. */
export function featuresOf(subject: string, group: StageGroup, provider: string | null): ReadonlySet<string> {
  const [codes, digit, rest, topic, detail] = CODES.exec(subject) ?? [''];
  const features = new Set(['', `in ${group}`, `code ${digit}`, `code ${digit}${rest}`, `${group} ${digit}`]);
  if (topic === undefined) features.add('no enhanced code');
  else features.add(`x.${topic}`).add(`x.${topic}.${detail}`).add(`${group} x.${topic}`);
  if (provider !== null) features.add(`of ${provider}`).add(`of ${provider} ${digit}${rest}`);
  const text = withoutHosts(subject.slice(codes.length), namesAlone)
    .replace(LINKS, ' alink ')
    .replace(ADDRESSES, ' anaddress ')
    .replace(IPV4, ' anip ');
  for (const word of text.match(WORDS) ?? []) {
    if (!UNSPACED.test(word)) features.add(word.slice(0, STEM));
    else for (let at = 0; at < word.length; at += 1) features.add(word.slice(at, at + 2));
  }
  const kinds = [...meaningsOf(subject)].sort();
  kinds.forEach((kind, at) => {
    features.add(`+${kind}`).add(`${group} +${kind}`);
    for (const other of kinds.slice(at + 1)) features.add(`+${kind} +${other}`);
  });
  return features;
}

/** One weight for each category, by feature. */
export type Weights = ReadonlyMap<string, Float32Array>;

/** The logarithm of how likely each category is, in their order, from features and weights. */
export function likelihoods(
  features: ReadonlySet<string>,
  weights: Weights,
  categories: number,
): Float64Array {
  const scores = new Float64Array(categories);
  let known = 0;
  for (const feature of features) {
    const ones = weights.get(feature);
    if (ones === undefined) continue;
    known += 1;
    for (let at = 0; at < categories; at += 1) scores[at] = (scores[at] ?? 0) + (ones[at] ?? 0);
  }
  const scale = LENGTH / Math.sqrt(Math.max(1, known));
  let largest = Number.NEGATIVE_INFINITY;
  for (let at = 0; at < categories; at += 1) {
    scores[at] = (scores[at] ?? 0) * scale;
    largest = Math.max(largest, scores[at] ?? 0);
  }
  let sum = 0;
  for (const score of scores) sum += Math.exp(score - largest);
  const total = largest + Math.log(sum);
  return scores.map((score) => score - total);
}

const { corpus, categories, weights } = JSON.parse(
  readFileSync(new URL('./learned.json', import.meta.url), 'utf8'),
) as LearnedData;
/** The hash of what the weights were learned from. */
export const LEARNED_FROM = corpus;
const CATEGORIES_LEARNED = categories.split(' ') as Category[];
const WEIGHTS: Weights = new Map(
  Object.entries(weights).map(([feature, hex]) => [
    feature,
    Float32Array.from(Buffer.from(hex, 'hex'), (byte) => (byte - 128) * WEIGHT_STEP),
  ]),
);

/** The logarithm of how likely each category is for a normalised reply. */
export function learnedOf(
  subject: string,
  group: StageGroup,
  provider: string | null,
): ReadonlyMap<Category, number> {
  const found = likelihoods(featuresOf(subject, group, provider), WEIGHTS, CATEGORIES_LEARNED.length);
  return new Map(CATEGORIES_LEARNED.map((category, at) => [category, found[at] ?? 0]));
}
