/** How a webhook stands, in words, and what came of its calls. Pure. */
import type { WebhookCall, WebhookDetail, WebhookTest } from '../../../src/client/api-types.ts';
import { redirectAdvice } from '../../../src/model/webhook.ts';
import { decimalText } from '../../components/count.ts';
import { holdsWords } from '../../components/search-text.ts';
import { eventsText } from './event-words.ts';

export interface Health {
  /** A word of `Status`. */
  status: 'Ok' | 'Failing' | 'Canceled' | 'Pending';
  words: string;
  /** Why, or what to do. */
  meaning: string;
}

const DISABLED = {
  User: 'A person disabled it. No calls are queued until it is enabled.',
  Gone: 'Its receiver answered 410: it wants no more calls.',
  Failures: 'All its calls failed for five days. Mend the receiver, send a test, then enable it.',
  Blocked: 'Its address leads to a network that may not be called.',
} as const;

export function healthOf(webhook: WebhookDetail): Health {
  const { Status, DisabledReason, FailingSince, LastResponseTryCounter, Pending } = webhook;
  if (Status === 'Disabled')
    return {
      status: inNeed(webhook) ? 'Failing' : 'Canceled',
      words: 'Disabled',
      meaning: DISABLED[DisabledReason ?? 'User'],
    };
  if (FailingSince !== null)
    return {
      status: 'Failing',
      words: 'Failing',
      meaning: `${lastAnswer(webhook)}. Failed calls are tried ten times in three days.`,
    };
  if (LastResponseTryCounter === 0)
    return {
      status: 'Pending',
      words: 'Not called yet',
      meaning: Pending > 0 ? 'Its first calls are on their way.' : 'It is called with the next event.',
    };
  return { status: 'Ok', words: 'Works', meaning: `${lastAnswer(webhook)}.` };
}

/** Events are late or lost until somebody does something. */
export function inNeed({ Status, DisabledReason, FailingSince }: WebhookDetail): boolean {
  return Status === 'Disabled'
    ? DisabledReason === 'Failures' || DisabledReason === 'Blocked'
    : FailingSince !== null;
}

/** Whether it is found by `text`. */
export function fits(webhook: WebhookDetail, text: string): boolean {
  const { WebhookURL, Description, Domain, Events } = webhook;
  return holdsWords([WebhookURL, Description, Domain, eventsText(Events), healthOf(webhook).words], text);
}

/** What the last try got: `Answered 200`, or why there was no answer. */
function lastAnswer({ LastResponseCode, LastError }: WebhookDetail): string {
  return LastResponseCode === 0
    ? `No answer: ${oneLine(LastError)}`
    : `Answered ${LastResponseCode}${redirectAdvice(LastResponseCode)}`;
}

/** What a test got, and whether the receiver took it. */
export function testWords({ StatusCode, LatencyMs, Error: error }: WebhookTest): {
  isTaken: boolean;
  words: string;
} {
  const isTaken = StatusCode >= 200 && StatusCode <= 299;
  if (StatusCode === 0)
    return { isTaken, words: `No answer after ${duration(LatencyMs)}: ${oneLine(error)}` };
  return {
    isTaken,
    words: `Answered ${StatusCode} after ${duration(LatencyMs)}${redirectAdvice(StatusCode)}`,
  };
}

/** How a call stands: the status as `Status` shows it, and its words. */
export function callWords({ Status, Tries, ResponseCode, Error: error }: WebhookCall): {
  status: string;
  words: string;
  answer: string;
} {
  const answer =
    Tries === 0 ? '' : ResponseCode === 0 ? `no answer: ${oneLine(error)}` : String(ResponseCode);
  if (Status === 'Succeeded') return { status: 'Ok', words: 'Taken', answer };
  if (Status === 'Failed') return { status: 'Failed', words: 'Failed', answer };
  if (Status === 'Sending') return { status: 'Sending', words: 'Calling', answer };
  return {
    status: Tries === 0 ? 'Queued' : 'Deferred',
    words: Tries === 0 ? 'Waiting' : 'Retrying',
    answer,
  };
}

/** From when a call was queued to its end; '' while it goes on. */
export function tookText({ Status, CreatedAt, UpdatedAt }: WebhookCall): string {
  if (Status === 'Pending' || Status === 'Sending') return '';
  return duration(Math.max(0, Date.parse(UpdatedAt) - Date.parse(CreatedAt)));
}

export function duration(ms: number): string {
  if (ms < 0.5) return '< 1 ms';
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${decimalText(ms / 1_000)} s`;
  if (ms < 3_600_000) return `${Math.round(ms / 60_000)} min`;
  return `${Math.round(ms / 3_600_000)} h`;
}

function oneLine(text: string): string {
  return shownText(text)
    .replaceAll(/[\n\t]+/g, ' ')
    .slice(0, 300);
}

/** A text of a stranger without characters that hide or turn others: control characters as their pictures. */
export function shownText(text: string): string {
  return (
    text
      .replaceAll('\r\n', '\n')
      // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
      .replaceAll(/[\u0000-\u0008\u000b-\u001f]/g, (one) => String.fromCodePoint(0x2400 + one.charCodeAt(0)))
      .replaceAll(/[\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g, '\ufffd')
  );
}
