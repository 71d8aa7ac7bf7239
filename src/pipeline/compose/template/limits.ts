/** How much a template may ask for. Every figure is a bound on time or memory that a hostile template cannot pass. */

export interface TemplateLimits {
  /** Octets of the HTML and of the text part, each. */
  maxSourceBytes: number;
  maxSubjectChars: number;
  /** Tags of one part. */
  maxTags: number;
  /** Characters between the braces of one tag. */
  maxTagChars: number;
  /** Sections inside sections. */
  maxDepth: number;
  /** Names in one dotted path. */
  maxPathNames: number;
  /** Pieces written and turns of loops, over all parts. */
  maxSteps: number;
  /** Characters of one value; escaping costs time for each, and a megabyte of quotes a fifth of a second. */
  maxValueChars: number;
  /** Characters of values that are looked at, over all parts: those that escape to nothing cost as much as the others. */
  maxReadChars: number;
  /** Octets that one filled-in part may have. */
  maxOutputBytes: number;
}

export const TEMPLATE_LIMITS: TemplateLimits = {
  maxSourceBytes: 512 * 1024,
  maxSubjectChars: 998,
  maxTags: 5_000,
  maxTagChars: 1_000,
  maxDepth: 16,
  maxPathNames: 16,
  maxSteps: 50_000,
  maxValueChars: 256 * 1024,
  maxReadChars: 4 * 1024 * 1024,
  maxOutputBytes: 1024 * 1024,
};

/** What takes a few milliseconds at the most: beyond it a template is filled in where nobody waits for it. */
export const SMALL_LIMITS: TemplateLimits = {
  ...TEMPLATE_LIMITS,
  maxSteps: 5_000,
  maxValueChars: 64 * 1024,
  maxReadChars: 64 * 1024,
  maxOutputBytes: 64 * 1024,
};
