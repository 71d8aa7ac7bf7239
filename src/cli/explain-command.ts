/**
 * `explain` says what the reply of a mail server means, who can fix it and what happens next. It takes a reply as an
 * argument, or JSON lines on standard input; it asks no server and opens no data folder. For a line that cannot be read it
 * prints a line with `error` and ends with exit code 1; the other lines are still answered.
 */
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { isJsonObject, type JsonObject } from '../lib/json-object.ts';
import { type Classifier, createClassifier } from '../pipeline/deliver/outcome/classifier/classify.ts';
import { readReply } from '../pipeline/deliver/outcome/classifier/normalise.ts';
import {
  explanationOf,
  STAGES,
  type Stage,
  sentenceOf,
  type Verdict,
} from '../pipeline/deliver/outcome/classifier/verdict.ts';
import { quoted } from './called-as.ts';
import type { CommandContext, CommandGroup } from './command.ts';
import { CommandError, jsonText, printable, styled, UsageError } from './terminal.ts';

export const explainCommands: CommandGroup = (program) => {
  program
    .command('explain [reply...]')
    .description(
      'explain the reply of a remote server: its meaning, its cause and what happens next; without a reply, read JSON lines {id, stage, code, enhanced, text, mx}',
    )
    .option(
      '--stage <stage>',
      `the step that it answered: ${STAGES.filter((stage) => stage !== 'local').join(', ')}`,
      'rcpt',
    )
    .option('--mx <host>', 'name of the server that sent it')
    .example('postrider explain "550 5.1.1 User unknown" --mx mx1.example.net')
    .runs(async (ctx, reply: string[], options: { stage: string; mx?: string }) => {
      const stage = stageOf(options.stage);
      if (stage === null) throw new UsageError(`--stage is one of ${STAGES.join(', ')}`);
      const classifier = createClassifier();
      if (reply.length > 0) explainOne(ctx, classifier, reply.join(' '), stage, options.mx);
      else await explainLines(ctx, classifier, stage, options.mx);
    });
};

function notReply(ctx: CommandContext, pasted: string): string {
  const wanted = 'a reply begins with its code, such as "550 5.1.1 User unknown"';
  if (!/^[^\s@]+@[^\s@]+$/.test(pasted)) return wanted;
  return `${wanted}; for the mail to an address, see: ${ctx.command(`messages --to ${quoted(printable(pasted))}`)}`;
}

function explainOne(
  ctx: CommandContext,
  classifier: Classifier,
  pasted: string,
  stage: Stage,
  mx: string | undefined,
): void {
  const reply = readReply(pasted);
  if (reply === null) throw new UsageError(notReply(ctx, pasted));
  const { code, enhanced, text } = reply;
  if (code < 400) {
    const sentence = 'The server agrees; nothing is wrong.';
    ctx.print({ category: null, scope: null, suppress: 'no', verdict: 'accepted', sentence }, sentence);
    return;
  }
  const verdict = classifier.classify({ stage, ...reply, mx, origin: 'remote' });
  const words = explanationOf(verdict);
  const { stdout } = ctx.terminal;
  const said = [code, enhanced, text].filter((part) => part !== null && part !== '').join(' ');
  ctx.print(
    { ...answerOf(verdict), ...words, confidence: verdict.confidence, rule: verdict.ruleId },
    [
      styled(stdout, 'bold', printable(said)),
      `  ${words.means} ${words.fault}`,
      `  Next: ${words.next}`,
      `  Who can fix it: ${ctx.asTyped(words.fix)}`,
      ...(verdict.confidence === 'high'
        ? []
        : ['  Not certain: the reply is read from few words; what it says itself counts more.']),
      '',
      `  category ${verdict.category}, scope ${verdict.scope}, suppresses: ${verdict.suppress}, rule ${verdict.ruleId} (${verdict.confidence} confidence)`,
    ].join('\n'),
  );
}

async function explainLines(
  ctx: CommandContext,
  classifier: Classifier,
  stage: Stage,
  mx: string | undefined,
): Promise<void> {
  const { stdin, stdout } = ctx.terminal;
  if (stdin.isTTY) throw new UsageError('give a reply, or JSON lines on standard input');
  let bad = 0;
  let lineNo = 0;
  for await (const line of createInterface({ input: stdin, crlfDelay: Number.POSITIVE_INFINITY })) {
    lineNo += 1;
    if (line.trim() === '') continue;
    const answer = answerLine(classifier, line, stage, mx);
    if ('error' in answer) bad += 1;
    if (!stdout.write(`${jsonText(answer)}\n`)) await once(stdout, 'drain');
  }
  if (bad > 0) throw new CommandError(`${bad} of ${lineNo} lines could not be read`);
}

type LineAnswer = { id: unknown; error: string } | ({ id: unknown } & ReturnType<typeof answerOf>);

function answerLine(classifier: Classifier, line: string, stage: Stage, mx: string | undefined): LineAnswer {
  let fields: JsonObject;
  try {
    const value: unknown = JSON.parse(line);
    if (!isJsonObject(value)) return { id: null, error: 'not an object' };
    fields = value;
  } catch {
    return { id: null, error: 'not JSON' };
  }
  const id = fields.id ?? null;
  const text = typeof fields.text === 'string' ? fields.text : '';
  const repeated = readReply(text);
  const code = Number(fields.code ?? repeated?.code);
  // Logs often repeat the code in the text; the message follows it.
  const read = repeated?.code === code ? repeated : null;
  if (!Number.isInteger(code) || code < 400 || code > 599)
    return { id, error: 'code is a number from 400 to 599' };
  const given = fields.stage === undefined || fields.stage === null ? stage : stageOf(fields.stage);
  if (given === null) return { id, error: `stage is one of ${STAGES.join(', ')}` };
  const enhanced = typeof fields.enhanced === 'string' && fields.enhanced !== '' ? fields.enhanced : null;
  const host = typeof fields.mx === 'string' && fields.mx !== '' ? fields.mx : mx;
  const verdict = classifier.classify({
    stage: given,
    code,
    enhanced: enhanced ?? read?.enhanced ?? null,
    text: read?.text ?? text,
    mx: host,
    origin: 'remote',
  });
  return { id, ...answerOf(verdict) };
}

function answerOf(verdict: Verdict) {
  const { category, scope, suppress, action } = verdict;
  return { category, scope, suppress, verdict: action, sentence: sentenceOf(explanationOf(verdict)) };
}

function stageOf(word: unknown): Stage | null {
  return STAGES.find((stage) => stage === word) ?? null;
}
