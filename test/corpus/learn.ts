/**
 * Learns the weights of the reply classifier (src/pipeline/deliver/outcome/classifier/learned.json) from the labelled
 * replies in `replies/`: one logistic regression over all categories, by gradient descent from nothing, so that the
 * same replies give the same weights. `sealed/` is never read.
 *
 *   npm run learn              writes learned.json
 *   npm run learn -- --check   leaves out a sixth of the files in turn, and says how their replies are classified
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { shippedRules } from '../../src/pipeline/deliver/outcome/classifier/classify.ts';
import {
  featuresOf,
  type LearnedData,
  likelihoods,
  WEIGHT_STEP,
  type Weights,
} from '../../src/pipeline/deliver/outcome/classifier/learned.ts';
import { enhancedIn, readReply, subjectOf } from '../../src/pipeline/deliver/outcome/classifier/normalise.ts';
import { createProviders } from '../../src/pipeline/deliver/outcome/classifier/provider.ts';
import { type RuleData, stageGroupOf } from '../../src/pipeline/deliver/outcome/classifier/rule-set.ts';
import type { Stage } from '../../src/pipeline/deliver/outcome/classifier/verdict.ts';

/** Rarer features are left out. */
const LEAST_REPLIES = 2;
const ROUNDS = 60;
const RATE = 0.1;
/** How much large weights cost. */
const RESTRAINT = 0.3;
const PARTS = 6;

interface Lesson {
  file: string;
  features: ReadonlySet<string>;
  category: string;
  also: readonly string[];
}

interface Labelled {
  stage: Stage;
  mx: string;
  reply: string;
  category: string;
  also?: string[];
}

const STAGE_OF = { connection: 'banner', mail: 'mail', rcpt: 'rcpt', data: 'dot' } as const;
const CLASSIFIER = new URL('../../src/pipeline/deliver/outcome/classifier/', import.meta.url);
const FOLDER = join(import.meta.dirname, 'replies');

/** A hash of everything that is learned from. */
export function corpusHash(): string {
  const hash = createHash('sha256');
  for (const file of ['rules.json', 'meanings.json', 'learned.ts', 'host-names.ts']) hash.update(readFileSync(new URL(file, CLASSIFIER)));
  for (const file of readdirSync(FOLDER).sort()) hash.update(readFileSync(join(FOLDER, file)));
  return hash.digest('hex').slice(0, 16);
}

function lessons(): Lesson[] {
  const shipped = shippedRules();
  const providers = createProviders(shipped.providers);
  const examples = (shipped.rules as RuleData[]).map(({ stages, provider, example, category }) => ({
    stage: STAGE_OF[stages?.[0] ?? 'rcpt'],
    mx: `mx${shipped.providers.find(({ id }) => id === provider)?.suffixes[0] ?? '.example.net'}`,
    reply: example,
    category,
  }));
  const files = readdirSync(FOLDER)
    .sort()
    .map((file) => ({
      file,
      replies: (JSON.parse(readFileSync(join(FOLDER, file), 'utf8')) as { replies: Labelled[] }).replies,
    }));
  return [...files, { file: 'rules.json', replies: examples }].flatMap(({ file, replies }) =>
    replies.map(({ stage, mx, reply, category, also = [] }: Labelled) => {
      const read = readReply(reply);
      const group = stageGroupOf(stage);
      if (read === null || group === null) throw new TypeError(reply);
      const subject = subjectOf(read.code, read.enhanced ?? enhancedIn(read.text), read.text);
      const provider = providers.ofHost(mx) ?? providers.ofText(subject);
      return { file, features: featuresOf(subject, group, provider), category, also };
    }),
  );
}

function learn(from: readonly Lesson[], categories: readonly string[]): Weights {
  const counts = new Map<string, number>();
  for (const { features } of from)
    for (const feature of features) counts.set(feature, (counts.get(feature) ?? 0) + 1);
  const size = categories.length;
  const weights = new Map<string, Float32Array>();
  const states = new Map<string, { slope: Float64Array; mean: Float64Array; square: Float64Array }>();
  for (const [feature, count] of [...counts].sort(([one], [other]) => (one < other ? -1 : 1))) {
    if (count < LEAST_REPLIES) continue;
    weights.set(feature, new Float32Array(size));
    const zeros = () => new Float64Array(size);
    states.set(feature, { slope: zeros(), mean: zeros(), square: zeros() });
  }
  const known = from.map(({ features }) => [...features].filter((feature) => weights.has(feature)));
  for (let round = 1; round <= ROUNDS; round += 1) {
    from.forEach(({ features, category }, at) => {
      const error = likelihoods(features, weights, size).map(Math.exp);
      const right = categories.indexOf(category);
      error[right] = (error[right] ?? 0) - 1;
      const names = known[at] ?? [];
      const scale = 3 / Math.sqrt(names.length);
      for (const name of names) {
        const slope = states.get(name)?.slope ?? error;
        for (let one = 0; one < size; one += 1) slope[one] = (slope[one] ?? 0) + (error[one] ?? 0) * scale;
      }
    });
    for (const [name, { slope, mean, square }] of states) {
      const ones = weights.get(name) ?? new Float32Array(size);
      for (let one = 0; one < size; one += 1) {
        const gradient = ((slope[one] ?? 0) + RESTRAINT * (ones[one] ?? 0)) / from.length;
        slope[one] = 0;
        mean[one] = 0.9 * (mean[one] ?? 0) + 0.1 * gradient;
        square[one] = 0.99 * (square[one] ?? 0) + 0.01 * gradient * gradient;
        const step = (mean[one] ?? 0) / (1 - 0.9 ** round);
        const spread = Math.sqrt((square[one] ?? 0) / (1 - 0.99 ** round)) + 1e-8;
        ones[one] = (ones[one] ?? 0) - (RATE * step) / spread;
      }
    }
  }
  return weights;
}

function stored(weights: Weights, categories: readonly string[]): LearnedData {
  const hexOf = (ones: Float32Array) =>
    Buffer.from(ones.map((one) => Math.min(255, Math.max(0, 128 + Math.round(one / WEIGHT_STEP))))).toString(
      'hex',
    );
  return {
    corpus: corpusHash(),
    categories: categories.join(' '),
    weights: Object.fromEntries([...weights].map(([feature, ones]) => [feature, hexOf(ones)])),
  };
}

if (import.meta.main) {
  const all = lessons();
  const categories = [...new Set(all.map(({ category }) => category))].sort();
  if (process.argv.includes('--check')) {
    const files = [...new Set(all.map(({ file }) => file))];
    let right = 0;
    for (let part = 0; part < PARTS; part += 1) {
      const left = new Set(files.filter((_, at) => at % PARTS === part));
      const weights = learn(
        all.filter(({ file }) => !left.has(file)),
        categories,
      );
      for (const { file, features, category, also } of all) {
        if (!left.has(file)) continue;
        const found = likelihoods(features, weights, categories.length);
        const said = categories[found.indexOf(Math.max(...found))] ?? '';
        if (said === category || also.includes(said)) right += 1;
      }
    }
    process.stdout.write(`of replies in files left out: category ${((100 * right) / all.length).toFixed(1)} %\n`);
  } else {
    const file = new URL('learned.json', CLASSIFIER);
    writeFileSync(file, `${JSON.stringify(stored(learn(all, categories), categories), null, 2)}\n`);
  }
}
