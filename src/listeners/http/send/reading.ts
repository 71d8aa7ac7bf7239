/**
 * What the readers of the fields of POST /email are given beside a value: the limits, the list of problems, and the
 * submission that is being put together. One is made for each message.
 */
import { didYouMean, probablyMeant } from '../../../lib/closest.ts';
import type { JsonObject } from '../../../lib/json-object.ts';
import type { Submission } from '../../../model/submission.ts';
import { type PropertyTable, readProperties } from '../body/json-properties.ts';
import type { ProblemList } from '../body/problem-list.ts';
import type { EmailLimits } from './limits.ts';
import { MAX_IGNORED, type UnknownMember, unknownMembers } from './unknown-members.ts';

/** These parts are null until they are read. */
type Required = 'from' | 'subject' | 'body';

/** A submission in the making. */
export type Draft = { -readonly [Part in keyof Submission]: Submission[Part] | NullIf<Part> };
type NullIf<Part> = Part extends Required ? null : never;

export interface Reading {
  readonly limits: EmailLimits;
  /** Unknown properties are refused (`Prefer: handling=strict`, RFC 7240). */
  readonly strict: boolean;
  /** File name extensions that are refused: lower-case, without the dot. */
  readonly blockedExtensions: ReadonlySet<string>;
  /** What SendAt and ExpiresAt are measured against. */
  readonly nowMs: number;
  readonly problems: ProblemList;
  /** Members within fields that are not known, where they are not refused. */
  readonly ignored: UnknownMember[];
  readonly draft: Draft;
}

/** The members of an object that is the value of a field, or of an item at `pointer`, in the order of the table. */
export function readMembers(
  object: JsonObject,
  table: PropertyTable,
  pointer: string,
  { strict, problems, ignored }: Reading,
): unknown[] {
  if (!strict && ignored.length < MAX_IGNORED) {
    for (const { name, meant } of unknownMembers(object, table, MAX_IGNORED - ignored.length))
      ignored.push({ name: `${pointer.slice(1)}/${name}`, meant });
  }
  return readProperties(object, table, strict, (name, segment, message) => {
    const hint = name === 'unknown-property' ? didYouMean(probablyMeant(segment, table.names)) : '';
    problems.add(name, `${pointer}/${segment}`, `${message}${hint}`);
  });
}
