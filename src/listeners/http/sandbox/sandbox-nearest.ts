/**
 * The error for a wait that found no mail: it names the mail that is in the inbox, or says that the inbox is empty and which
 * others have mail. So a test that waits for the wrong inbox, or for a subject that was changed, shows why it failed.
 */
import { AppError } from '../../../lib/errors.ts';
import { foldText } from '../../../model/search-text.ts';
import type { Store } from '../../../store/store.ts';
import type { CaptureView } from '../../../store/topics/captures.ts';
import { withoutUndefined } from '../operation.ts';
import { isoTime } from '../route.ts';
import { type CaptureFilters, toCaptureSummary } from './sandbox-search.ts';

/** The error `request-timeout`, with what was found instead. */
export type NearestCaptures = (
  domains: { domains?: readonly string[] },
  filters: CaptureFilters,
  seconds: number,
) => Promise<AppError>;

const SHOWN = 3;
const COUNTED = 100;
const MAX_SUBJECT_CHARS = 60;

export function createNearestCaptures(store: Pick<Store, 'findCaptures'>): NearestCaptures {
  return async (domains, filters, seconds) => {
    const { inbox, to } = filters.stored;
    const there = await newest({ ...domains, ...withoutUndefined({ inbox, to }) }, COUNTED);
    const placed = inbox !== undefined || to !== undefined;
    const elsewhere = there.length === 0 && placed ? await newest(domains, SHOWN) : [];
    const near = there.length > 0 ? there : elsewhere;
    const time = `${seconds} second${seconds === 1 ? '' : 's'}`;
    return new AppError('request-timeout', {
      message: `No captured message matched within ${time}. ${sentence(filters, there, elsewhere)}`,
      members: { Nearest: near.slice(0, SHOWN).map(toCaptureSummary) },
    });
  };

  async function newest(
    where: { domains?: readonly string[]; inbox?: string; to?: string },
    limit: number,
  ): Promise<readonly CaptureView[]> {
    return (await store.findCaptures({ ...where, limit, look: limit })).captures;
  }
}

function sentence(
  filters: CaptureFilters,
  there: readonly CaptureView[],
  elsewhere: readonly CaptureView[],
): string {
  const place = placeOf(filters);
  if (there.length > 0) {
    const count = there.length === COUNTED ? `${COUNTED} or more` : String(there.length);
    const mails = there.length === 1 ? '1 mail is' : `${count} mails are`;
    return `${mails} captured${place}, none of them ${wishOf(filters)}: ${shown(there)}`;
  }
  if (elsewhere.length > 0) return `Nothing is captured${place}; elsewhere: ${shown(elsewhere)}`;
  return 'Nothing is captured at all: mail goes to the sandbox with a sandbox token, with Sandbox: true, to a magic recipient, or where the route of the server is sandbox';
}

function placeOf({ stored: { inbox, to } }: CaptureFilters): string {
  return `${inbox === undefined ? '' : ` in inbox ${inbox}`}${to === undefined ? '' : ` for ${to}`}`;
}

function wishOf({ stored: { from, subject, tag, since, until }, text, hasFiles }: CaptureFilters): string {
  const wishes = [
    from === undefined ? '' : `from ${from}`,
    subject === undefined ? '' : `with "${short(subject)}" in the subject`,
    text === undefined ? '' : `with "${short(text)}" in the text`,
    tag === undefined ? '' : `with the tag ${tag}`,
    hasFiles === undefined ? '' : hasFiles ? 'with an attachment' : 'without attachments',
    since === undefined ? '' : `since ${isoTime(since)}`,
    until === undefined ? '' : `before ${isoTime(until)}`,
  ].filter((wish) => wish !== '');
  return wishes.length === 0 ? 'in time' : wishes.join(' and ');
}

function shown(captures: readonly CaptureView[]): string {
  const some = captures.slice(0, SHOWN).map(({ subject, envelopeTo, inbox, at }) => {
    const named = inbox === '' || foldText(envelopeTo).includes(`+${inbox}@`) ? '' : ` in inbox ${inbox}`;
    return `"${short(subject)}" to ${envelopeTo}${named} at ${isoTime(at)}`;
  });
  return `${some.join('; ')}${captures.length > SHOWN ? '; …' : ''}`;
}

function short(text: string): string {
  return text.length > MAX_SUBJECT_CHARS ? `${text.slice(0, MAX_SUBJECT_CHARS)}…` : text;
}
