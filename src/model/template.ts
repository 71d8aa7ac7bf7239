/**
 * A stored template of one sender domain: subject, HTML and text with placeholders. Its name may change; a version
 * never does.
 */

export interface TemplateHead {
  /** UUIDv7. */
  id: string;
  /** Sender domain that it is for, lower-case A-label. */
  domain: string;
  /** What people call it; one of this name per domain. */
  name: string;
  /** The newest version's number. */
  version: number;
  createdAt: number;
  /** When the newest version came, or the name changed. */
  updatedAt: number;
}

/** The texts of one version; null = the template leaves that part to the request. */
export interface TemplateTexts {
  subject: string | null;
  html: string | null;
  text: string | null;
}

export interface TemplateVersion extends TemplateTexts {
  /** From 1, one more with every change. */
  version: number;
  createdAt: number;
}
