/** How much one email request may hold. `maxRecipients` has a configuration key. */

export interface EmailLimits {
  /** Distinct addresses in To, CC and BCC together, and items in each of them. */
  maxRecipients: number;
  maxReplyTo: number;
  /** Octets of HTMLContent and of PlainContent, each. */
  maxContentBytes: number;
  maxSubjectChars: number;
  maxNameChars: number;
  maxTags: number;
  maxTagChars: number;
  maxHeaders: number;
  /** Octets of all custom header names and values together. */
  maxHeaderBytes: number;
  maxAttachments: number;
}

export const DEFAULT_EMAIL_LIMITS: EmailLimits = {
  maxRecipients: 50,
  maxReplyTo: 10,
  maxContentBytes: 5 * 1024 * 1024,
  maxSubjectChars: 998,
  maxNameChars: 256,
  maxTags: 10,
  maxTagChars: 128,
  maxHeaders: 50,
  maxHeaderBytes: 16 * 1024,
  maxAttachments: 100,
};
