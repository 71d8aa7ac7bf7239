/**
 * The body of POST /email → a `Submission`, or every problem in it. Hand-written, one pass, no schema
 * library: this runs for each message and takes a few microseconds. Given raw bytes from anyone; it leaves checked
 * and normalised values, and never throws for what a client sent. Fields are read in documented order, so problems
 * come out in that order; the sender domain, sizes and suppressions are acceptance's to judge, not this file's.
 */
import { didYouMean } from '../../../lib/closest.ts';
import { AppError, ERRORS, type Problem } from '../../../lib/errors.ts';
import type { JsonObject } from '../../../lib/json-object.ts';
import { SUBMISSION_DEFAULTS, type Submission } from '../../../model/submission.ts';
import { bodyText, jsonProblem, parseJsonObject } from '../body/json-body.ts';
import { readProperties } from '../body/json-properties.ts';
import { createProblemList, inFieldOrder, MAX_PROBLEMS, pointerSegment } from '../body/problem-list.ts';
import { hasUnsafeContentId, quoteLongContentIds } from './attachments.ts';
import { FIELD_NAMES, placeOf, readFields } from './fields.ts';
import type { EmailLimits } from './limits.ts';
import type { Draft } from './reading.ts';
import type { EmailWarning } from './review.ts';
import { contentWarnings, ignoredNames } from './review.ts';
import { applyTemplate, type Fields, type FoundTemplate, TEMPLATE_FIELDS } from './template-fields.ts';
import { MAX_IGNORED, type UnknownMember, unknownMembers } from './unknown-members.ts';

/** A body that is JSON. */
export interface ParsedEmail {
  object: JsonObject;
  /** The same with long integer content ids as text. Asked only where such a number occurs: clients send 64-bit hashes. */
  withExactIds(): JsonObject | null;
}

export interface EmailReadOptions {
  /** Unknown properties are refused (`Prefer: handling=strict`, RFC 7240). */
  strict: boolean;
  /** What is likely not meant is looked for: the message is read a second time. */
  review?: boolean;
  /** File name extensions that are refused: lower-case, without the dot. */
  blockedExtensions: ReadonlySet<string>;
  /** What SendAt and ExpiresAt are measured against. */
  nowMs: number;
  /** The stored template that the request names, or null where there is none for this caller. */
  template?: FoundTemplate | null | undefined;
}

/** Remarks about an accepted message. */
export interface EmailRemarks {
  /** About its template. */
  warnings: readonly string[];
  /** Members that mean nothing here. */
  ignored: readonly UnknownMember[];
  /** Probable mistakes, if requested. */
  review: readonly EmailWarning[];
}

export type EmailRead =
  | ({ ok: true; submission: Submission } & EmailRemarks)
  /** At least one, at most 25, in documented field order. */
  | { ok: false; problems: readonly [Problem, ...Problem[]] };

const ATTACHMENTS = placeOf('Attachments');
const TEMPLATE = TEMPLATE_FIELDS.map(placeOf);
const NO_WARNINGS: readonly string[] = [];

/** A missing member may be there under another name; an unknown one may resemble a known one. */
function withHints(problems: readonly Problem[], unknown: readonly UnknownMember[]): readonly Problem[] {
  if (unknown.length === 0) return problems;
  const text = unknown.find(({ meant }) => meant === 'PlainContent');
  const template = unknown.find(({ meant }) => meant === 'TemplateID');
  return problems.map((problem) => {
    const field = problem.field?.slice(1) ?? '';
    if (problem.name === 'unknown-property') {
      const known = unknown.find(({ name }) => pointerSegment(name) === field);
      return { ...problem, message: `${problem.message ?? ''}${didYouMean(known?.meant ?? '')}` };
    }
    if (!problem.name.endsWith('-required') && problem.name !== 'to-count') return problem;
    const said = problem.message ?? ERRORS[problem.name].text;
    const given = unknown.find(({ meant }) => meant === field);
    if (given !== undefined) return { ...problem, message: `${said}; "${given.name}" is not known here` };
    if (template !== undefined && ['Subject', 'ContentType', 'HTMLContent'].includes(field)) {
      const message = `${said}; "${template.name}" is not known here: a template is named in TemplateID, what fills it in is in Variables`;
      return { ...problem, message };
    }
    if (text === undefined || !['ContentType', 'HTMLContent'].includes(field)) return problem;
    return {
      ...problem,
      message: `${said}; "${text.name}" is not known here: a text goes into PlainContent, with ContentType "Text"`,
    };
  });
}

/**
 * The body as JSON. `list` as for `jsonProblem`. Throws AppError json-malformed and
 * request-too-complex.
 */
export function parseEmailBody(body: Uint8Array, list?: string): ParsedEmail {
  const text = bodyText(body);
  const object = parseJsonObject(text);
  if (object === null) throw new AppError('json-malformed', { message: jsonProblem(text, list) });
  return { object, withExactIds: () => parseJsonObject(quoteLongContentIds(text)) };
}

/** Reads one request that is parsed already. */
export function readEmailObject(
  parsed: ParsedEmail,
  limits: EmailLimits,
  options: EmailReadOptions,
): EmailRead {
  const { object } = parsed;
  const { strict } = options;
  const problems = createProblemList();
  const late = createProblemList();
  const values = readProperties(object, FIELD_NAMES, strict, (name, segment, message) =>
    late.add(name, `/${segment}`, message),
  );
  if (hasUnsafeContentId(values[ATTACHMENTS])) {
    const exact = parsed.withExactIds();
    if (exact !== null)
      values[ATTACHMENTS] = readProperties(exact, FIELD_NAMES, false, () => {})[ATTACHMENTS];
  }
  const { blockedExtensions, nowMs, template } = options;
  const draft = newDraft();
  const warnings = namesTemplate(values) ? applyTemplate(byName(values), problems, template) : NO_WARNINGS;
  const within: UnknownMember[] = [];
  readFields(values, { limits, strict, blockedExtensions, nowMs, problems, ignored: within, draft });

  const found = [...problems.items, ...late.items];
  const [first, ...rest] =
    found.length === 0
      ? []
      : inFieldOrder(withHints(found, unknownMembers(object, FIELD_NAMES, MAX_PROBLEMS)), FIELD_NAMES.names);
  if (first !== undefined) return { ok: false, problems: [first, ...rest] };
  // Each reader adds a problem if it returns nothing; anything else is a bug.
  if (!isWhole(draft)) return { ok: false, problems: [{ name: 'internal' }] };
  return {
    ok: true,
    submission: draft,
    warnings,
    ignored: strict
      ? []
      : [...unknownMembers(object, FIELD_NAMES, MAX_IGNORED), ...within].slice(0, MAX_IGNORED),
    review: options.review === true ? review(draft) : [],
  };

  function review(taken: Submission): EmailWarning[] {
    const again = strict
      ? null
      : readEmailObject(parsed, limits, { ...options, strict: true, review: false });
    return [...ignoredNames(again?.ok === false ? again.problems : []), ...contentWarnings(taken)];
  }
}

/** Most requests do not. */
function namesTemplate(values: readonly unknown[]): boolean {
  for (const at of TEMPLATE) if (values[at] !== undefined) return true;
  return false;
}

function byName(values: unknown[]): Fields {
  return {
    get: (field) => values[placeOf(field)],
    set(field, text) {
      values[placeOf(field)] = text;
    },
  };
}

/** A submission before reading: absent members stay like this. */
function newDraft(): Draft {
  return {
    ...SUBMISSION_DEFAULTS,
    from: null,
    fromDomain: '',
    recipients: [],
    subject: null,
    body: null,
  };
}

function isWhole(draft: Draft): draft is Draft & Submission {
  return draft.from !== null && draft.subject !== null && draft.body !== null;
}
