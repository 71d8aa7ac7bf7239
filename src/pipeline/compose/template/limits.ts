/** Limits of templates. Each one limits the time or memory that a hostile template can use. */

export const TEMPLATE_LIMITS = {
  /** Octets of the HTML part, and of the text part. */
  maxSourceBytes: 512 * 1024,
  maxSubjectChars: 998,
  /** Tags of one part. */
  maxTags: 5_000,
  /** Characters between the braces of one tag. */
  maxTagChars: 1_000,
  /** Sections inside sections. */
  maxDepth: 16,
  /** Names in one dotted path. */
  maxPathNames: 16,
  /** Pieces written and loop iterations, over all parts. */
  maxSteps: 50_000,
  /** Characters of one value; each costs time for escaping, and a megabyte of quotes a fifth of a second. */
  maxValueChars: 256 * 1024,
  /**
   * Characters of values that are read, over all parts: a value that becomes empty by escaping costs as much as others.
   */
  maxReadChars: 4 * 1024 * 1024,
  /** Octets of one rendered part. */
  maxOutputBytes: 1024 * 1024,
};

export type TemplateLimits = typeof TEMPLATE_LIMITS;

/** At most a few milliseconds; a template beyond these limits is rendered in a worker. */
export const SMALL_LIMITS: TemplateLimits = {
  ...TEMPLATE_LIMITS,
  maxSteps: 5_000,
  maxValueChars: 64 * 1024,
  maxReadChars: 64 * 1024,
  maxOutputBytes: 64 * 1024,
};
