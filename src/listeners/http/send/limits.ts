/** How much one email request may hold. `maxRecipients` has a configuration key. */

export const DEFAULT_EMAIL_LIMITS = {
  /** Distinct addresses in To, CC and BCC together, and items in each of them. */
  maxRecipients: 50,
  maxReplyTo: 10,
  /** Octets of HTMLContent and of PlainContent, each. */
  maxContentBytes: 5 * 1024 * 1024,
  maxSubjectChars: 998,
  maxNameChars: 256,
  maxTags: 10,
  maxTagChars: 128,
  maxHeaders: 50,
  /** Octets of all custom header names and values together. */
  maxHeaderBytes: 16 * 1024,
  maxAttachments: 100,
};

export type EmailLimits = typeof DEFAULT_EMAIL_LIMITS;
