/**
 * Making a thing once, and hearing of it even where the answer was lost: the same request is sent again with its
 * Idempotency-Key, and the server answers what it answered the first time, for five minutes with the secret.
 */
import { ApiError, call, Unreachable } from './call.ts';

/** Of what was asked for and not answered yet: whoever presses the button again asks for the same thing. */
const unanswered = new Map<string, string>();
const WAITS_MS = [1_000, 3_000];

/** `secret`: the member of the answer that is shown once; an answer without it is an error that says what to do. */
export async function make<Answer extends object>(
  path: string,
  body: object | undefined,
  secret?: keyof Answer,
): Promise<Answer> {
  const asked = `${path} ${JSON.stringify(body)}`;
  const key = unanswered.get(asked) ?? newKey();
  unanswered.set(asked, key);
  for (let tries = 0; ; tries += 1) {
    try {
      const answer = await call<Answer>('POST', path, { body, key });
      unanswered.delete(asked);
      if (secret === undefined || answer[secret] !== undefined) return answer;
      throw new TypeError(
        `It was made, but the answer with its secret was lost. Find it in the list, remove it, and make another.`,
      );
    } catch (error) {
      const isLost = isAnswerLost(error);
      if (!isLost) unanswered.delete(asked);
      const waitMs = WAITS_MS[tries];
      if (!isLost || waitMs === undefined) throw error;
      await new Promise((resolve) => setTimeout(resolve, waitMs));
    }
  }
}

/** What was asked for may have been made. */
function isAnswerLost(error: unknown): boolean {
  if (error instanceof Unreachable) return true;
  if (!(error instanceof ApiError)) return false;
  return error.status >= 500 || error.code.endsWith('/idempotency-key-in-flight');
}

/** Also where the page has no secure context, in which there is no `randomUUID`. */
function newKey(): string {
  return crypto.getRandomValues(new Uint32Array(4)).join('-');
}
