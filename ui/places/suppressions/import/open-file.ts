/** The file that is imported: its rows are in a worker, and the page asks for what it shows and sends. */
import type { ImportPlan, ImportWishes, placesIn } from '../../../../src/policy/suppressions/import-file.ts';

export type Row = ImportPlan['items'][number];

/** What the page shows of a plan. */
export interface ShownPlan extends Omit<ImportPlan, 'items' | 'invalid' | 'unknownReasons'> {
  places: ReturnType<typeof placesIn>;
  count: number;
  first: readonly Row[];
  wrongCount: number;
  wrong: ImportPlan['invalid'];
  unknownReasons: readonly (readonly [word: string, count: number])[];
}

export interface OpenFile {
  names: readonly string[];
  plan(wishes: ImportWishes): Promise<ShownPlan>;
  /** Those of the last plan from this place on, as many as one request takes. */
  portion(from: number): Promise<readonly Row[]>;
  close(): void;
}

export interface Answers {
  read: { names: readonly string[] };
  plan: ShownPlan;
  portion: readonly Row[];
}

export type Question =
  | { kind: 'read'; file: File }
  | { kind: 'plan'; wishes: ImportWishes }
  | { kind: 'portion'; from: number };

export interface Asked {
  id: number;
  question: Question;
}

/** Rejects where the file cannot be read. */
export async function openFile(file: File): Promise<OpenFile> {
  const worker = new Worker(new URL('./file-worker.ts', import.meta.url), { type: 'module' });
  const waiting = new Map<number, { resolve(answer: unknown): void; reject(error: Error): void }>();
  let asked = 0;
  worker.onmessage = ({ data: { id, answer, problem } }) => {
    if (problem === undefined) waiting.get(id)?.resolve(answer);
    else waiting.get(id)?.reject(new Error(problem));
    waiting.delete(id);
  };
  worker.onerror = () => {
    for (const { reject } of waiting.values()) reject(new Error('This browser cannot read the file'));
    waiting.clear();
  };
  const ask = <Kind extends Question['kind']>(question: Question & { kind: Kind }): Promise<Answers[Kind]> =>
    new Promise((resolve, reject) => {
      asked += 1;
      waiting.set(asked, { resolve: resolve as (answer: unknown) => void, reject });
      worker.postMessage({ id: asked, question } satisfies Asked);
    });
  try {
    const { names } = await ask({ kind: 'read', file });
    return {
      names,
      plan: (wishes) => ask({ kind: 'plan', wishes }),
      portion: (from) => ask({ kind: 'portion', from }),
      close: () => worker.terminate(),
    };
  } catch (error) {
    worker.terminate();
    throw error;
  }
}
