/** Beside the page: holds the rows of the file that is imported and plans them, so that a large one does not stop the page. */
import {
  type ImportPlan,
  type ImportSheet,
  PER_REQUEST,
  placesIn,
  planImport,
  portionsOf,
  readSheet,
} from '../../../../src/policy/suppressions/import-file.ts';
import type { Answers, Asked, Question } from './open-file.ts';

/** Of each list the page shows as many at the most. */
const FIRST = 8;
const WRONG = 100;
const WORDS = 12;

let sheet: ImportSheet = { names: [], rows: [] };
let plan: ImportPlan | null = null;

self.onmessage = async ({ data: { id, question } }: MessageEvent<Asked>) => {
  try {
    self.postMessage({ id, answer: await answerTo(question) });
  } catch (error) {
    self.postMessage({ id, problem: error instanceof Error ? error.message : String(error) });
  }
};

async function answerTo(question: Question): Promise<Answers[keyof Answers]> {
  if (question.kind === 'read') {
    sheet = readSheet(await question.file.text());
    return { names: sheet.names };
  }
  if (question.kind === 'plan') {
    plan = planImport(sheet, question.wishes, Date.now());
    const { items, invalid, unknownReasons, ...rest } = plan;
    return {
      ...rest,
      places: placesIn(sheet, question.wishes),
      count: items.length,
      first: items.slice(0, FIRST),
      wrongCount: invalid.length,
      wrong: invalid.slice(0, WRONG),
      unknownReasons: [...unknownReasons].slice(0, WORDS),
    };
  }
  const { from } = question;
  const { value } = portionsOf(plan?.items.slice(from, from + PER_REQUEST) ?? []).next();
  return value ?? [];
}
