/** Limits of templates. Each one limits the time or memory that a hostile template can use. */

export interface TemplateLimits {
  /** Octets of the HTML part, and of the text part. */
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
  /** Pieces written and loop iterations, over all parts. */
  maxSteps: number;
  /** Characters of one value; each costs time for escaping, and a megabyte of quotes a fifth of a second. */
  maxValueChars: number;
  /**
   * Characters of values that are read, over all parts: a value that becomes empty by escaping costs as much as others.
   */
  maxReadChars: number;
  /** Octets of one rendered part. */
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

/** At most a few milliseconds; a template beyond these limits is rendered in a worker. */
export const SMALL_LIMITS: TemplateLimits = {
  ...TEMPLATE_LIMITS,
  maxSteps: 5_000,
  maxValueChars: 64 * 1024,
  maxReadChars: 64 * 1024,
  maxOutputBytes: 64 * 1024,
};
