/**
 * Turns a checked submission into the input of compose: BCC recipients are left out here, and a text alternative is
 * made from the HTML if the sender did not give one. Used by acceptance and by the worker that composes large requests.
 */
import type { PersonalOptions } from '../../model/personal.ts';
import type { Submission } from '../../model/submission.ts';
import type { ComposeBody, ComposeInput } from '../compose/compose.ts';
import { textFromHtmlInSteps } from '../compose/text-from-html.ts';

/**
 * `messageId`: the UUID; `dateMs`: the Date header, milliseconds since the Unix epoch; `personal`: the personal links
 * of each copy, null = none.
 */
export function* composeInputInSteps(
  submission: Submission,
  { messageId, dateMs, personal }: { messageId: string; dateMs: number; personal: PersonalOptions | null },
): Generator<void, ComposeInput, void> {
  return {
    messageId,
    fromDomain: submission.fromDomain,
    dateMs,
    from: submission.from,
    to: submission.recipients.filter(({ kind }) => kind === 'To'),
    cc: submission.recipients.filter(({ kind }) => kind === 'CC'),
    replyTo: submission.replyTo,
    subject: submission.subject,
    body: yield* composeBody(submission.body),
    headers: submission.headers,
    attachments: submission.attachments,
    personal,
  };
}

function* composeBody(body: Submission['body']): Generator<void, ComposeBody, void> {
  if (body.kind === 'text') return body;
  const text =
    body.kind === 'html' && body.text !== undefined ? body.text : yield* textFromHtmlInSteps(body.html);
  if (body.kind === 'text-of-html') return { kind: 'text', text: text ?? '' };
  // The HTML contains no text (only an image): programs that show text would prefer an empty alternative.
  return { kind: 'html', html: body.html, text: text === '' ? null : text };
}
