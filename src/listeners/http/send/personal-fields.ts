/**
 * Tracking and ListUnsubscribe of a request: what the sender wishes beside the settings of the domain.
 * A member that is left out stays as the domain says. Gives null where nothing is said, so that a message without
 * wishes costs nothing.
 */
import type { PersonalWish } from '../../../model/personal.ts';
import { isJsonObject, propertyTable, readProperties } from '../body/json-properties.ts';
import type { ProblemList } from '../body/problem-list.ts';

const TRACKING = propertyTable(['Opens', 'Clicks']);

/** The wish, or null. `tracking` may be an object or one word for both. */
export function readPersonalWish(
  values: { tracking: unknown; listUnsubscribe: unknown },
  strict: boolean,
  problems: ProblemList,
): PersonalWish | null {
  const { tracking, listUnsubscribe } = values;
  if (tracking === undefined && listUnsubscribe === undefined) return null;
  const wish: PersonalWish = { opens: null, clicks: null, listUnsubscribe: null };
  if (typeof tracking === 'boolean') {
    wish.opens = tracking;
    wish.clicks = tracking;
  } else if (isJsonObject(tracking)) {
    const [opens, clicks] = readProperties(tracking, TRACKING, strict, (name, segment, message) =>
      problems.add(name, `/Tracking/${segment}`, message),
    );
    wish.opens = flag(opens, '/Tracking/Opens', problems);
    wish.clicks = flag(clicks, '/Tracking/Clicks', problems);
  } else if (tracking !== undefined) problems.add('tracking-invalid', '/Tracking');
  if (typeof listUnsubscribe === 'boolean') wish.listUnsubscribe = listUnsubscribe;
  else if (listUnsubscribe !== undefined) problems.add('list-unsubscribe-invalid', '/ListUnsubscribe');
  return wish;
}

function flag(value: unknown, pointer: string, problems: ProblemList): boolean | null {
  if (value === undefined || typeof value === 'boolean') return value ?? null;
  problems.add('tracking-invalid', pointer);
  return null;
}
